"""What the tests of tests/reliability share, and the programs that they start."""
