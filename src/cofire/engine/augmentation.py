"""Augmentation: training on flipped and shifted images, without a copy of the data."""

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real

import numpy as np


@dataclass(frozen=True)
class Augmentation:
    """Flip and shift each training image at random, differently in every epoch.

    An image is flipped left-right with probability 1/2 and then moved by a random
    number of pixels down or up and right or left, all equally likely; pixels that come
    in repeat the edge. This concerns training only: validation, prediction, the search
    for similar neurons and the gradients that RigL and SNIP use get the rows as they
    are. No image is kept: a batch is made when it is needed.

    height, width, channels: a row has height * width * channels features, in the order
    row, column, channel.
    shift: the largest move as a fraction of the side, in [0, 1): int(shift * height)
    pixels down or up, int(shift * width) right or left.
    flip: whether images are flipped at all.

    What an image looks like depends on the run's seed, the epoch and the number of its
    row in X only: the same for any number of threads, and in a resumed fit.

    >>> from cofire import SparseMLPClassifier
    >>> model = SparseMLPClassifier(augmentation=Augmentation(32, 32, 3))
    >>> model.augmentation.pixels
    (3, 3)
    """

    height: int
    width: int
    channels: int = 1
    _: KW_ONLY
    shift: float = 0.1
    flip: bool = True

    def __post_init__(self) -> None:
        for name in ("height", "width", "channels"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if not isinstance(self.shift, Real) or not 0 <= self.shift < 1:
            raise ValueError(f"shift must lie in [0, 1), got {self.shift!r}")
        if not isinstance(self.flip, bool | np.bool_):
            raise ValueError(f"flip must be True or False, got {self.flip!r}")

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return math.prod((int(self.height), int(self.width), int(self.channels)))

    @property
    def pixels(self) -> tuple[int, int]:
        """The largest move: down or up, and right or left."""
        return int(self.shift * self.height), int(self.shift * self.width)
