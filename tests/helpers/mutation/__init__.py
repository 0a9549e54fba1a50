"""The program behind `make mutate`: small mistakes, and whether the tests find them."""
