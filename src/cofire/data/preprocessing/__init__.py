"""Rows as an estimator takes them: columns become features, scaled and split."""
