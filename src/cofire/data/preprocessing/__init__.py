"""From the rows of a file or data set to the features that an estimator takes."""
