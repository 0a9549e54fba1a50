"""What everything else is made of: layers, networks, optimisers, random numbers."""
