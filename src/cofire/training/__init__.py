"""The loop of epochs, and what happens in it."""
