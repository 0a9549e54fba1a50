"""Tables and pages: they read what a training left behind, and never train."""
