"""How much an epoch changes: its learning rate, the fraction of connections it moves.

Each schedule is a function of the initial value, of how much of the fit is done
(0 to 1) and, for learning rates, of the training losses so far: a pure function of the
past, so that a resumed training continues with the same bits. A new one is a function
and a row of its table.
"""

import math
from collections.abc import Callable, Mapping, Sequence


def _constant(initial: float, done: float, losses: Sequence[float] = ()) -> float:
    return initial


def _cosine(initial: float, done: float, losses: Sequence[float] = ()) -> float:
    return initial * 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))


def _adaptive(initial: float, done: float, losses: Sequence[float]) -> float:
    return initial / 5 ** _n_stalls(losses)


RATE_SCHEDULES: dict[str, Callable[[float, float, Sequence[float]], float]] = {
    "constant": _constant,
    "cosine": _cosine,
    "adaptive": _adaptive,
}
DROP_SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "constant": _constant,
    "cosine": _cosine,
}


def learning_rate(
    schedule: str | Mapping[int, float],
    initial: float,
    epoch: float,
    max_epochs: float,
    losses: Sequence[float],
) -> float:
    """Return the learning rate of an epoch; 2.5 is the middle of the third.

    "constant" stays; "cosine" falls from `initial` towards 0 over `max_epochs`;
    "adaptive" is divided by 5 whenever the training loss has not fallen for two epochs.
    A mapping gives factors: from the epoch with this number on, times this factor.

    >>> [round(learning_rate("cosine", 0.1, e, 4, []), 3) for e in range(4)]
    [0.1, 0.085, 0.05, 0.015]
    >>> learning_rate("adaptive", 0.1, 4, 9, [3.0, 2.0, 2.0, 2.5])
    0.02
    >>> [learning_rate({2: 0.5, 3: 0.5}, 0.1, e, 4, []) for e in range(4)]
    [0.1, 0.1, 0.05, 0.025]
    """
    if not isinstance(schedule, str):
        return initial * math.prod(f for start, f in schedule.items() if epoch >= start)
    return RATE_SCHEDULES[schedule](initial, epoch / max_epochs, losses)


def drop_fraction(
    schedule: str, initial: float, epoch: float, max_epochs: float
) -> float:
    """Return the fraction of connections that is replaced at an update.

    "constant" stays; "cosine" falls from `initial` towards 0 over `max_epochs`.

    >>> [round(drop_fraction("cosine", 0.2, e, 4), 3) for e in range(5)]
    [0.2, 0.171, 0.1, 0.029, 0.0]
    """
    return DROP_SCHEDULES[schedule](initial, epoch / max_epochs)


def _n_stalls(losses: Sequence[float]) -> int:
    best, stalled, n = math.inf, 0, 0
    for loss in losses:
        stalled = 0 if loss < best else stalled + 1
        best = min(best, loss)
        if stalled == 2:
            stalled, n = 0, n + 1
    return n
