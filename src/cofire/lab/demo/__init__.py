"""The demo: methods, the default and gradient boosting on the bundled data."""
