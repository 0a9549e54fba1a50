"""The CTRE paper's two protocols, and our own, as parameters of the estimators.

>>> from cofire import SparseMLPClassifier, profiles
>>> model = SparseMLPClassifier((100,) * 3, method="set", epsilon=1, **profiles.MASKED)

MASKED and SPARSE are the settings that the paper's figures come from; where the paper
leaves them open, they are those of its authors' programs. They are not recommendations.
A regressor has no `label_smoothing`: `for_regressor` leaves it out.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["DEFAULTS_0_1", "HOUSE", "MASKED", "SPARSE", "for_regressor"]

_ONE_NETWORK: dict[str, Any] = {
    "standardize": False,
    "n_networks": 1,
    "update_interval": "epoch",
    "update_stop": 1.0,
}

_BOTH: dict[str, Any] = _ONE_NETWORK | {
    "activation": "relu",
    "drop_fraction": 0.2,
    "drop_schedule": "constant",
    "input_dropout": 0.0,
    "label_smoothing": 0.0,
    "solver": "sgd",
    "alpha": 1e-4,
    "batch_size": 100,
    "last_batch": "drop",
    "learning_rate": "constant",
    "learning_rate_init": 0.01,
    "momentum": 0.9,
    "max_iter": 500,
    "early_stopping": False,
    "restore_best": True,
    "similarity": "exact",
}

MASKED: dict[str, Any] = _BOTH | {
    "init": "glorot",
    "nesterovs_momentum": True,
    "shuffle": False,
    "method_options": {
        "drop_rule": "magnitude",
        "new_values": "he_uniform",
        "returning": "kept",
    },
}
"""Tables 2 to 7, 9 and 10: the program in which masks hide weights that stay there.

A connection that is dropped and grown at once therefore keeps its weight. Rows come in
the same batches in every epoch, in the order in which they are given.
"""

SPARSE: dict[str, Any] = _BOTH | {
    "init": "normal",
    "nesterovs_momentum": False,
    "shuffle": True,
    "method_options": {
        "drop_rule": "signed",
        "new_values": "normal",
        "returning": "fresh",
    },
}
"""Table 8: the program on sparse arrays, descended from SET's own."""

HOUSE: dict[str, Any] = _ONE_NETWORK | {
    "activation": "relu",
    "init": "small_normal",
    "drop_fraction": 0.2,
    "drop_schedule": "cosine",
    "input_dropout": 0.1,
    "label_smoothing": 0.05,
    "solver": "sgd",
    "alpha": 5e-4,
    "batch_size": 96,
    "last_batch": "train",
    "shuffle": True,
    "learning_rate": "cosine",
    "learning_rate_init": 0.1,
    "momentum": 0.9,
    "nesterovs_momentum": False,
    "max_iter": 500,
    "early_stopping": False,
    "restore_best": False,
    "similarity": "screened",
}
"""The settings for `method="cofire"`, the same for all kinds of data: docs/method.md.

Features must be standardised (sparse ones divided by their deviation). New connections
start with larger weights than the initial ones, so that connections that were never
tested are dropped first. Both the fraction that is replaced and the learning rate fall
to 0, and the last network is the best: no validation rows are needed.
"""

DEFAULTS_0_1: dict[str, Any] = _ONE_NETWORK | {
    "hidden_layer_sizes": (1000, 1000, 1000),
    "init": "normal",
    "epsilon": 5.0,
    "method": "ctre_sim",
    "drop_schedule": "constant",
    "learning_rate": "constant",
    "learning_rate_init": 0.01,
    "nesterovs_momentum": True,
    "batch_size": 100,
    "alpha": 1e-4,
    "input_dropout": 0.0,
    "label_smoothing": 0.0,
    "max_iter": 200,
    "n_iter_no_change": 40,
}
"""What version 0.1 had as defaults of `SparseMLPClassifier`.

`SparseMLPRegressor` had a learning_rate_init of 0.001, and has no label_smoothing.
"""


def for_regressor(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile without what only classes have.

    >>> from cofire import SparseMLPRegressor, profiles
    >>> model = SparseMLPRegressor(epsilon=1, **profiles.for_regressor(profiles.HOUSE))
    >>> sorted(set(profiles.HOUSE) - set(profiles.for_regressor(profiles.HOUSE)))
    ['label_smoothing']
    """
    return {name: v for name, v in profile.items() if name != "label_smoothing"}
