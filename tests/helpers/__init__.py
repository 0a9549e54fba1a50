"""What tests share: oracles, cases to try, and programs that tests start."""
