"""The demo: dense, SET and CTRE side by side on the bundled data."""
