"""How much an epoch changes: its learning rate, the share of connections it moves."""

import math
from collections.abc import Mapping, Sequence

SCHEDULES = ("constant", "cosine", "adaptive")
DROP_SCHEDULES = ("constant", "cosine")


def learning_rate(
    schedule: str | Mapping[int, float],
    initial: float,
    epoch: int,
    max_epochs: int,
    losses: Sequence[float],
) -> float:
    """Return the learning rate of an epoch.

    "constant" stays; "cosine" falls from `initial` towards 0 over `max_epochs`;
    "adaptive" is divided by 5 whenever the training loss has not fallen for two epochs.
    A mapping gives factors: from the epoch with this number on, times this number.
    A pure function of the past, so that a resumed training goes on with the same bits.

    >>> [round(learning_rate("cosine", 0.1, e, 4, []), 3) for e in range(4)]
    [0.1, 0.085, 0.05, 0.015]
    >>> learning_rate("adaptive", 0.1, 4, 9, [3.0, 2.0, 2.0, 2.5])
    0.02
    >>> [learning_rate({2: 0.5, 3: 0.5}, 0.1, e, 4, []) for e in range(4)]
    [0.1, 0.1, 0.05, 0.025]
    """
    if not isinstance(schedule, str):
        return initial * math.prod(f for start, f in schedule.items() if epoch >= start)
    if schedule == "cosine":
        return _cosine(initial, epoch, max_epochs)
    if schedule == "adaptive":
        return initial / 5 ** _n_stalls(losses)
    return initial


def drop_fraction(schedule: str, initial: float, epoch: int, max_epochs: int) -> float:
    """Return the share of connections that is replaced before an epoch.

    "constant" stays; "cosine" falls from `initial` towards 0 over `max_epochs`.

    >>> [round(drop_fraction("cosine", 0.2, e, 4), 3) for e in range(5)]
    [0.2, 0.171, 0.1, 0.029, 0.0]
    """
    return _cosine(initial, epoch, max_epochs) if schedule == "cosine" else initial


def _cosine(initial: float, epoch: int, max_epochs: int) -> float:
    share = min(epoch / max_epochs, 1.0)
    return initial * 0.5 * (1.0 + math.cos(math.pi * share))


def _n_stalls(losses: Sequence[float]) -> int:
    best, stalled, n = math.inf, 0, 0
    for loss in losses:
        stalled = 0 if loss < best else stalled + 1
        best = min(best, loss)
        if stalled == 2:
            stalled, n = 0, n + 1
    return n
