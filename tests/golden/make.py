"""Write the golden models, and renew the bits that are known of them: `make golden`.

    make golden                   models that are missing, and the bits of all
    make golden ARGS="NAME ..."   these models again as well

If you read model files later, you must read these too, and predict the same bits
(test_golden.py). So do not write a model again without need: a new option gets a new
file. Everything but the models is in expected.json, floats in hexadecimal. Bits are
those of a SIMD level, for fused multiply-adds round differently. Of a level that this
machine lacks, the stored bits are kept. The hashes KNOWN in diagnostics/proofs.py are
renewed in the same way.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

import cofire
from cofire import Augmentation, SparseMLPRegressor, saving
from cofire.callbacks import Callback
from cofire.diagnostics.proofs import KNOWN
from cofire.methods.cofire import Cofire
from cofire.methods.ctre.simultaneous import CTRESimultaneous
from cofire.methods.rigl import RigL
from cofire.methods.set import SET
from cofire.search import Exact, Linear, Screened
from helpers import processes, simd
from helpers.estimator_cases import earlier
from helpers.golden_pipelines import write_missing

FOLDER = Path(__file__).parent
EXPECTED = FOLDER / "expected.json"
PROOFS = FOLDER.parents[1] / "src" / "cofire" / "diagnostics" / "proofs.py"

draw = np.random.default_rng(20)
X = draw.standard_normal((60, 6)).astype(np.float32)
NUMBER = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)  # three classes
BINARY = (X[:, 2] > 0).astype(int)
WORDS = np.array(["ant", "bee", "cätchy"])[NUMBER]
COLUMNS = np.stack([NUMBER > 0, NUMBER > 1, X[:, 2] > 0], axis=1).astype(int)
VALIDATION = {"X_val": X[::2], "y_val": NUMBER[::2]}
PROBE = draw.standard_normal((5, 6)).astype(np.float32)
SMALL = {"hidden_layer_sizes": (8, 6), "epsilon": 1.5, "random_state": 0}
SMALL |= {"max_iter": 2, "batch_size": 16, "n_jobs": 1}


def classifier(y=NUMBER, rows=X, fit=(), **parameters):
    return earlier(**SMALL | parameters).fit(rows, y, **dict(fit))


def regressor(y, rows=X, fit=(), **parameters):
    model = earlier(SparseMLPRegressor, **SMALL | parameters)
    return model.fit(rows, y, **dict(fit))


class Interruption(Callback):
    """Ends a fit as a key would: the best network is another than the last."""

    def on_epoch_end(self, progress, record):
        if progress.epoch > 2 and progress.stalled_epochs:
            raise KeyboardInterrupt
        return False


def interrupted():
    model = earlier(**SMALL | {"max_iter": 99, "method": "set"})
    model.callbacks = [Interruption()]
    try:
        model.fit(X, NUMBER, **VALIDATION)
    except KeyboardInterrupt:
        model.callbacks = ()
    return model


MODELS = {
    # what is learnt
    "binary": lambda: classifier(BINARY),
    "multi-class": lambda: classifier(),
    "multi-label": lambda: classifier(COLUMNS),
    "words": lambda: classifier(WORDS, method="set"),
    "object-labels": lambda: classifier(WORDS.astype(object), method="static"),
    "float-labels": lambda: classifier(2.0 * NUMBER - 1, method="set"),
    "one-output": lambda: regressor(X[:, 0]),
    "two-outputs": lambda: regressor(3 * X[:, :2] + 100, solver="adam"),
    # how
    "adam": lambda: classifier(solver="adam", learning_rate="cosine"),
    "tanh-rigl": lambda: classifier(activation="tanh", method="rigl"),
    "leaky-snip": lambda: classifier(activation="leaky_relu", method="snip"),
    "identity-dense": lambda: classifier(activation="identity", method="dense"),
    "static-density": lambda: classifier(method="static", density=0.4, init="glorot"),
    "options": lambda: classifier(
        method="set", method_options={"returning": "kept", "patience": 3}
    ),
    "ctre-seq": lambda: classifier(method="ctre_seq", max_iter=3, fit=VALIDATION),
    "ctre-without-random": lambda: classifier(method="ctre_wo_random"),
    "set-object": lambda: classifier(method=SET(new_values="zero", returning="kept")),
    "rigl-object": lambda: regressor(X[:, 1], method=RigL()),
    "ctre-object-exact": lambda: classifier(
        method=CTRESimultaneous(), similarity=Exact()
    ),
    "screened-object": lambda: classifier(similarity=Screened(recall=0.9)),
    "linear-object": lambda: classifier(similarity=Linear(tables=3)),
    "linear": lambda: regressor(X[:, :2], similarity="linear"),
    # beside that
    "images": lambda: classifier(augmentation=Augmentation(2, 3, shift=0.4)),
    "smoothed-labels": lambda: classifier(COLUMNS, label_smoothing=0.1),
    "input-dropout": lambda: regressor(X[:, 0], input_dropout=0.25),
    "cofire-object": lambda: classifier(
        method=Cofire(rows=40, false_alarms=1.0), learning_rate="constant"
    ),
    "drop-schedule": lambda: classifier(drop_schedule="cosine", max_iter=3),
    "feature-names": lambda: classifier(rows=pd.DataFrame(X, columns=list("abcdeß"))),
    "early-stopping": lambda: classifier(
        early_stopping=True, n_iter_no_change=2, max_iter=9, validation_fraction=0.3
    ),
    "last-epoch": lambda: classifier(restore_best=False, fit=VALIDATION),
    "interrupted": interrupted,
    "class-weight": lambda: classifier(
        WORDS, class_weight={"ant": 1, "bee": 2.5, "cätchy": 1}, method="set"
    ),
    "number-keys": lambda: classifier(
        class_weight={0: 1, 1: 2, 2: 1}, learning_rate={1: 0.5}, method="set"
    ),
    "no-hidden-layer": lambda: classifier(hidden_layer_sizes=()),
    "sizes-array": lambda: classifier(hidden_layer_sizes=np.array([5])),
    "sparse-rows": lambda: classifier(rows=scipy.sparse.csr_array(X)),
    "random-state": lambda: classifier(random_state=np.random.RandomState(3)),
    "preprocessing": lambda: classifier(BINARY, method="static"),
    "several-networks": lambda: classifier(n_networks=3, update_interval=5, max_iter=3),
    "raw-features": lambda: classifier(
        rows=np.where(X > 2, np.nan, X), standardize=True, method="cofire"
    ),
}

# Models of parameters that are gone: nobody can write them again.
OLD = {"plain-sgd": "decoupled_decay"}


def hexadecimal(array: np.ndarray) -> list:
    """Nested lists of floats as text that loses nothing."""
    if array.ndim > 1:
        return [hexadecimal(row) for row in array]
    return [float(value).hex() for value in array]


def rows_for(model):
    names = getattr(model, "feature_names_in_", None)
    return PROBE if names is None else pd.DataFrame(PROBE, columns=names)


def outputs() -> dict[str, list]:
    """What every model says of the probe at this SIMD level."""
    found = {}
    for path in sorted(FOLDER.glob("*.cofire")):
        model = cofire.load(path)
        found[path.stem] = hexadecimal(model._predict_outputs(rows_for(model)))
    return found


def said_at(level: str, *arguments: str) -> str:
    """What a Python program says at a SIMD level."""
    child = subprocess.run(
        [sys.executable, *arguments],
        env=processes.environment(COFIRE_SIMD=level),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return child.stdout


def plain(model) -> dict:
    """What must come back beside the outputs."""
    predicted = model.predict(rows_for(model))
    real = predicted.dtype.kind == "f"
    return {
        "estimator": type(model).__name__,
        "parameters": {k: repr(v) for k, v in model.get_params(deep=False).items()},
        "predictions": hexadecimal(predicted) if real else predicted.tolist(),
        "dtype": predicted.dtype.str,
        "epochs": model.n_iter_,
        "sizes": model.network_.sizes,
        "connections": model.n_connections_,
        "best_score": model.best_validation_score_,
        "losses": hexadecimal(np.array(model.loss_curve_)),
    }


def write_models(kept: dict, names: list[str]) -> None:
    """Write these models, and those that are missing; forget what was known of them."""
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())
    # This tree need not be installed, and then would not know its version.
    saving.__version__ = project["project"]["version"]
    for name, make in MODELS.items():
        path = FOLDER / f"{name}.cofire"
        if name in names or not path.exists():
            extra = {"columns": ["a", "ß"]} if name == "preprocessing" else None
            saving.save(make(), path, preprocessing=extra)
            kept["models"][name] = plain(cofire.load(path)) | {"outputs": {}}
            say(f"{name}: written")


def renew_bits(kept: dict, level: str) -> None:
    """Take what all models say at a SIMD level into what is kept."""
    changed = []
    for name, values in json.loads(said_at(level, __file__, "--outputs")).items():
        bits = kept["models"][name]["outputs"]
        if bits.get(level) != values:
            changed.append(name)
        bits[level] = values
    say(f"{level}: {', '.join(changed) or 'no model'} changed")


def renew_hash(level: str) -> None:
    """Write the hash of a SIMD level where diagnostics/proofs.py keeps it."""
    found = said_at(level, "-m", "cofire.diagnostics.proofs", "here").strip()
    if found != KNOWN[level]:
        text = PROOFS.read_text()
        assert KNOWN[level] in text, f"{PROOFS} is not what was imported"
        PROOFS.write_text(text.replace(KNOWN[level], found))
        say(f"{level}: another hash in {PROOFS.name}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main(names: list[str]) -> None:
    for name in set(names) & OLD.keys():
        sys.exit(f"{name} cannot be written again: there is no {OLD[name]} any more")
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"no such model: {', '.join(unknown)}. Known: {', '.join(MODELS)}")
    kept = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {"models": {}}
    write_models(kept, names)
    kept["X"] = hexadecimal(PROBE)
    for level in simd.LEVELS:
        if simd.machine_has(level):
            renew_bits(kept, level)
            renew_hash(level)
        else:
            lacking = [
                n for n, m in kept["models"].items() if level not in m["outputs"]
            ]
            say(f"{level}: this machine lacks it; what is stored is kept unchanged")
            if lacking:
                say(f"  nothing is stored of {', '.join(lacking)}")
    EXPECTED.write_text(
        json.dumps(kept, indent=0, sort_keys=True, ensure_ascii=False) + "\n"
    )
    for name in write_missing():
        say(f"pipelines/{name}: written")


if __name__ == "__main__":
    if sys.argv[1:] == ["--outputs"]:
        say(json.dumps(outputs()))
    else:
        main(sys.argv[1:])
