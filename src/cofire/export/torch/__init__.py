"""A fitted model as a module of torch, in memory and as files."""
