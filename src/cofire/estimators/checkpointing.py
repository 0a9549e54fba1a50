"""The checkpoints of a fit: one file per network."""

from typing import Any

from cofire.estimators.description import (
    check_storable,
    describe,
    fingerprint,
    remembering,
)
from cofire.estimators.fit_energy import FitEnergy
from cofire.estimators.prepare import Prepared
from cofire.persistence.checkpoints import FitCheckpoints


def open_checkpoints(
    prepared: Prepared, spent: FitEnergy, estimator: Any, index: int
) -> FitCheckpoints:
    """Open the checkpoints of one network; the estimator is the copy that has it."""
    assert prepared.plan.checkpoint is not None
    check_storable(estimator)
    start = prepared.trainings[index] if prepared.continues else None
    return FitCheckpoints(
        prepared.plan.checkpoint,
        fingerprint(estimator, prepared.arrays, start, index),
        describe=lambda progress, tensors: (
            describe(estimator, [progress], tensors) | {"energy": spent.total.to_dict()}
        ),
        callbacks=remembering(estimator.callbacks) if index == 0 else [],
        max_epochs=prepared.plan.settings.max_epochs,
        repeats=estimator.random_state is not None,
        one_of_several=index > 0,
    )
