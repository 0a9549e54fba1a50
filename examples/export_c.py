"""A network as one C file: train, export, compile, and get the same classes."""

import ctypes
import subprocess

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cofire import SparseMLPClassifier
from cofire.export import to_c

X, y = load_digits(return_X_y=True)
X = X.astype(np.uint8)  # bytes in Python are bytes in C
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = SparseMLPClassifier((100, 100), epsilon=1, n_networks=1, random_state=0)
model.fit(X, y)

for tables in ("float", "int16", "int8"):
    done = to_c(model, f"digits_{tables}.c", tables=tables, X=X_test, y=y_test)
    print(f"{done}\n")

# The float one predicts what Python does.
command = "cc -std=c99 -Wall -Werror -O2 -fPIC -shared digits_float.c -lm -o digits.so"
subprocess.run(command.split(), check=True)
predict = ctypes.CDLL("./digits.so").digits_float_predict
labels = [predict(row.ctypes.data_as(ctypes.c_void_p)) for row in X_test]
assert (np.array(labels) == model.predict(X_test)).all()
print(f"{len(labels)} rows: the same classes in C and in Python")
