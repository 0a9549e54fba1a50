"""How many threads a call may use."""

import multiprocessing

from cofire.engine import available_cores

MOST = 1024  # more threads than anybody has cores for: a slip, not a wish


def n_threads(n_jobs: int | None) -> int:
    """Translate scikit-learn's `n_jobs`: None means all cores, 1 inside a worker.

    >>> n_threads(3)
    3
    """
    if n_jobs is None:
        return 1 if _inside_a_worker() else available_cores()
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None for all cores.")
    if n_jobs < 0:
        return max(1, available_cores() + 1 + n_jobs)
    return min(n_jobs, MOST)


def _inside_a_worker() -> bool:
    """Whether several of us run already: in a joblib worker or a child process."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    nested = (getattr(backend, "nesting_level", 0) or 0) > 0
    return nested or multiprocessing.parent_process() is not None
