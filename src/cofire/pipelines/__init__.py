"""Pipelines as plain values and arrays: which transformers a file may hold, and how.

A file names a class, and it is looked up in the table of `classes.py`: nothing is
imported by its name, no object is unpickled. The object is made by the constructor of
the class, and gets the attributes that the table lists, each checked for its kind, its
shape and what scikit-learn's compiled code relies on.
"""
