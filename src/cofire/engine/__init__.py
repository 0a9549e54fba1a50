"""The arithmetic: check the arrays, then one native call. It knows no methods."""

import cofire.engine._native as _native
from cofire.engine.augmentation import Augmentation
from cofire.engine.epoch import (
    EpochStats,
    gradients,
    parallel_tasks,
    predict,
    train_epoch,
)
from cofire.engine.rows import TILE, Rows
from cofire.engine.search import (
    SCORES,
    TIES,
    Deck,
    PairSearch,
    best_pairs,
    hashed_pairs,
    screened_pairs,
)

__all__ = [
    "SCORES",
    "TIES",
    "TILE",
    "Augmentation",
    "Deck",
    "EpochStats",
    "PairSearch",
    "Rows",
    "best_pairs",
    "gradients",
    "hashed_pairs",
    "parallel_tasks",
    "predict",
    "screened_pairs",
    "simd_level",
    "train_epoch",
]

simd_level = _native.simd_level
