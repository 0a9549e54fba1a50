"""Pipelines saved with one release of scikit-learn and read with another.

    python -m helpers.other_releases save FOLDER       in the one environment
    python -m helpers.other_releases compare FOLDER    in the other

`compare` prints what cannot be read or predicts other bits.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn

import cofire
from helpers.pipeline_cases import CASES, fitted


def predictions(pipeline, rows):
    return getattr(pipeline, "predict_proba", pipeline.predict)(rows)


def save(folder: Path) -> None:
    folder.mkdir(parents=True)
    for i, (name, case) in enumerate(CASES.items()):
        cofire.save(fitted(name), folder / f"{i}.cofire")
        np.save(folder / f"{i}.npy", predictions(fitted(name), case.rows))


def compare(folder: Path) -> None:
    n_right = 0
    for i, (name, case) in enumerate(CASES.items()):
        expected = np.load(folder / f"{i}.npy")
        try:
            found = predictions(cofire.load(folder / f"{i}.cofire"), case.rows)
        except Exception as error:
            sys.stdout.write(f"{name}: {error}\n")
            continue
        if found.tobytes() == expected.tobytes():
            n_right += 1
        else:
            most = np.abs(found.astype(float) - expected.astype(float)).max()
            sys.stdout.write(f"{name}: differs by {most:.1e}\n")
    sys.stdout.write(
        f"scikit-learn {sklearn.__version__}: {n_right} of {len(CASES)} alike\n"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"save": save, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
