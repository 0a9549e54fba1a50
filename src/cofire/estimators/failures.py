"""A network that did not learn is told from one that did."""

import numpy as np

from cofire.training.progress import Progress, TrainingData
from cofire.training.settings import Settings

RESTARTS = 2
"""How often a network that failed starts again, with a lower learning rate."""
SLOWER = 0.3
"""What the learning rate is multiplied by at a restart."""
_FEW_EPOCHS, _FEW_STEPS = 5, 100  # too few to judge by
_ROWS = 1000  # looked at
_FALL = 1e-3  # a fraction of the first loss: less has not moved
_GROWTH = 2.0  # times the first loss: bad even after few steps
_SMALL = 1e-3  # a first loss: there was hardly anything to learn
_DEEP = 4  # hidden layers: in more, small first weights let signals vanish
_MOST = 0.9  # a class with more rows may well be the only one that is predicted


def failure(progress: Progress, data: TrainingData, settings: Settings) -> str | None:
    """Say in words why a trained network is of no use; None if it learnt something."""
    records = progress.history[progress.first_epoch :]
    if len(records) < _FEW_EPOCHS:
        return None
    n_steps = len(records) * data.steps(settings, progress.seed).per_epoch
    enough = n_steps >= _FEW_STEPS
    for i, n_alive in enumerate(records[-1]["alive"]):
        if enough and n_alive == 0:
            return f"no neuron of hidden layer {i + 1} is active any more"
    first, last = records[0]["loss"], records[-1]["loss"]
    if first > _SMALL and last > first * (1 - _FALL if enough else _GROWTH):
        return f"its training loss did not fall (at first {first:.4g}, now {last:.4g})"
    if enough and progress.network.output == "softmax":
        if _predicts_one_class(progress, data):
            return "it predicts the same class for all rows"
    return None


def _predicts_one_class(progress: Progress, data: TrainingData) -> bool:
    ids = data.row_ids[:: max(1, len(data.row_ids) // _ROWS)]
    weight = None if data.sample_weight is None else data.sample_weight[ids]
    of_class = np.bincount(data.targets[ids], weight)
    if of_class.max() > _MOST * of_class.sum():
        return False
    assert data.outputs is not None  # every estimator has them
    outputs = data.outputs(progress.network, ids)
    return len(np.unique(outputs.argmax(axis=1))) == 1


def remedy(reason: str, progress: Progress, settings: Settings) -> str:
    """Say what failed, what was tried and what a user can do."""
    rate = settings.learning_rate_init * progress.rate_factor
    tried = ""
    if progress.rate_factor < 1:
        tried = " It was trained again with lower learning rates, which did not help."
    n_hidden, deep = len(progress.network.layers) - 1, ""
    if n_hidden > _DEEP:
        deep = (
            f" {n_hidden} hidden layers are many: use fewer, or init='sparse_aware', "
            "whose first weights do not let signals vanish."
        )
    return (
        f"The model did not learn: {reason}.{tried}{deep} Try a lower "
        f"learning_rate_init (it was {rate:.2g}), more connections (epsilon) or wider "
        "hidden layers, and standardize=True if it is off. If no model learns from "
        "these data, X may say nothing about y."
    )
