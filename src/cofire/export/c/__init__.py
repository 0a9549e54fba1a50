"""to_c: a model as one C99 file and its header."""
