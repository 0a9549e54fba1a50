"""Whether this installation works, and proofs of it."""
