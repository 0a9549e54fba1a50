"""Checks of this installation, and proofs that training is deterministic."""
