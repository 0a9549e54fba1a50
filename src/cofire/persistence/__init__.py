"""Files that last: models, checkpoints, and how they are written."""
