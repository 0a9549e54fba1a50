"""Model files and checkpoints, and how they are written."""
