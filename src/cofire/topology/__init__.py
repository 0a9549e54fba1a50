"""Which connections exist: how many, where, and how that changes."""
