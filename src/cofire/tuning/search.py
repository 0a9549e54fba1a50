"""tune: settings for your rows, and how small a model can get at this accuracy."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring

from cofire.lab.experiments import Store
from cofire.lab.workers.connect import connected
from cofire.lab.workers.executor import Executor
from cofire.tuning.checks import check_number, check_whole, rows_to_search
from cofire.tuning.curves import Rival, margin
from cofire.tuning.elsewhere import Elsewhere, Job, Search, sent
from cofire.tuning.folds import fit_seeds, repeated_folds
from cofire.tuning.front import finalists, rows_of
from cofire.tuning.proposals import needed, propose
from cofire.tuning.records import Records, identity
from cofire.tuning.result import Tuning
from cofire.tuning.space import Settings, Space
from cofire.tuning.trial import Fold, Trial, run_trial


@dataclass(frozen=True)
class Step:
    """A trial that is over: for who watches a search.

    stored: whether it was found in the store. repeat: 1 or 2 for a finalist that was
    measured again.
    """

    number: int
    n_trials: int
    repeat: int
    trial: Trial
    stored: bool


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_trials: int = 30,
    timeout: float | None = None,
    cv: Any = None,
    scoring: Any = None,
    within: float = 0.01,
    max_connections: int | None = None,
    prefer: str = "best",
    refit: bool = True,
    random_state: int = 0,
    store: str | PathLike[str] | None = None,
    name: str | None = None,
    cluster: str | Executor | None = None,
    watch: Callable[[Step], None] | None = None,
) -> Tuning:
    """Search for settings; return the front of scores against sizes, and the best.

    Searched are the width and number of hidden layers, `epsilon`, the learning rate,
    `alpha`, `input_dropout` and whether numbers enter in pieces, each around the value
    of the default recipe; a parameter that `estimator` has set stays as it is. Each
    trial is a cross-validation. The first is the estimator as it is, so the best never
    validates worse than the default. A trial is stopped when its validation curve is
    clearly below that of a trial that had no more connections. The finalists (the
    default, the front and the best few) are measured again with other folds, twice;
    only they can be chosen, by these scores. Equal calls give equal trials. It needs
    Optuna: pip install 'cofire[tune]'.

    Parameters
    ----------
    estimator : SparseMLPClassifier or SparseMLPRegressor
        Not fitted; its `n_networks` is the size of the ensembles, and smaller ones
        (1, 2, 4 ...) are measured along.
    X, y : rows to search with and to train on; no test rows among them.
    n_trials : int
        How many settings are tried, the default among them.
    timeout : float or None
        No trial begins after so many seconds. Measuring the finalists again, and the
        last fit, come on top.
    cv : int, splitter of scikit-learn, iterable or None
        None: 5 folds, 3 from 10,000 rows on.
    scoring : str, callable or None
        As scikit-learn has it; None: accuracy or R^2. Where it is given, no trial is
        stopped early, since curves show accuracy or R^2.
    within : float
        How far below the best "the smallest within" may be, the standard error of the
        difference included: 0.01 is a point of accuracy.
    max_connections : int or None
        The best has at most so many connections, with as many networks as they allow.
    prefer : {"best", "smallest"}
        Which one `best_estimator_` is: the best ensemble, or the smallest within.
    refit : bool
        Whether `best_estimator_` is trained, on all rows.
    random_state : int
        Of folds, trials and the last fit.
    store : path or None
        A folder for the run store: there, the same call continues a search that was
        interrupted, and `cofire runs list --out FOLDER` shows the trials.
    name : str or None
        What the runs are said to be about; None: the shape of X.
    cluster : str or None
        The address of a Dask cluster, or "slurm:..." (docs/cluster.md), whose workers
        fit the folds; the trials are the same. None: this process does.
    watch : callable or None
        Called with a `Step` after each trial.

    Examples
    --------
    >>> import cofire
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = cofire.SparseMLPClassifier(max_iter=5, n_networks=2)
    >>> found = cofire.tune(model, X, y, n_trials=3, cv=3)
    >>> found.best_["score"] >= found.default_["score"]
    True
    >>> [row["connections"] for row in found.front_] == sorted(
    ...     row["connections"] for row in found.front_)
    True
    """
    X, y = rows_to_search(estimator, X, y)
    check_whole("n_trials", n_trials, 1)
    if timeout is not None:
        check_number("timeout", timeout)
    check_number("within", within)
    check_whole("random_state", random_state, 0, 2**31 - 1)
    if max_connections is not None:
        check_whole("max_connections", max_connections, 1)
    if prefer not in ("best", "smallest"):
        raise ValueError(f'prefer: expected "best" or "smallest", got {prefer!r}.')
    needed()
    Space.around(estimator, len(y), n_pieces=1)  # refuses one with nothing to search
    plain = clone(estimator).set_params(callbacks=(), checkpoint=None, verbose=0)
    folds = repeated_folds(plain, X, y, cv, random_state)
    more = {"scoring": _named(scoring), "max_connections": max_connections}
    with _opened(store) as opened, connected(cluster) as executor:
        records = Records(
            opened,
            name or f"{X.shape[0]} x {X.shape[1]}",
            identity(plain, X, y, folds, **more),
            plain,
            "classification" if is_classifier(plain) else "regression",
            random_state,
        )
        search = _Search(
            plain,
            X,
            y,
            folds,
            check_scoring(plain, scoring),
            scoring is None,
            max_connections,
            random_state,
            records,
            watch or (lambda step: None),
        )
        with search.elsewhere(executor) as search:
            trials = search.run(n_trials, timeout)
    found = Tuning(
        plain.set_params(random_state=random_state),
        trials,
        within=within,
        max_connections=max_connections,
        prefer=prefer,
        score_name=_score_name(plain, scoring),
    )
    if refit:
        found.best_estimator_ = found.estimator(found.preferred_).fit(X, y)
    return found


@dataclass(frozen=True)
class _Search:
    """The trials of one search, in their order; those that are stored are not run."""

    estimator: Any
    X: Any
    y: Any
    folds: list[list[Fold]]
    scorer: Any
    stops: bool
    max_connections: int | None
    seed: int
    records: Records
    watch: Callable[[Step], None]
    workers: Elsewhere | None = None

    @contextmanager
    def elsewhere(self, executor: Executor | None) -> Iterator["_Search"]:
        """Yield the search with the workers of an executor, if there is one."""
        if executor is None:
            yield self
            return
        rows = self.estimator, self.X, self.y, self.folds
        seeds = [self._seeds(repeat) for repeat in range(len(self.folds))]
        with sent(Search(*rows, seeds, self.scorer), executor) as workers:
            yield replace(self, workers=workers)

    def _seeds(self, repeat: int) -> list[int]:
        return fit_seeds(self.seed, repeat, len(self.folds[repeat]))

    def run(self, n_trials: int, timeout: float | None) -> dict[tuple[int, int], Trial]:
        """Return all trials, by number and repeat."""
        known = self.records.trials()
        end = np.inf if timeout is None else time.monotonic() + timeout
        first: list[Trial] = []
        space: Space | None = None
        for number in range(n_trials):
            if number > 0 and (number, 0) not in known and time.monotonic() > end:
                break
            if (number, 0) in known:
                settings = known[number, 0].settings
            else:
                settings = {} if space is None else self._next(space, first)
            job = Job(number, 0, settings, self._rivals(first))
            first += self._trials(known, [job], n_trials)
            if space is None:
                space = self._space(first[0])
        trials = {(number, 0): trial for number, trial in enumerate(first)}
        return self._repeated(trials, known, n_trials)

    def _next(self, space: Space, first: list[Trial]) -> Settings:
        settings = propose(space, first, self.seed)
        return space.within(settings, self.max_connections, first[0].sizes)

    def _space(self, default: Trial) -> Space:
        if default.stopped:
            raise ValueError(
                "estimator: its training diverges on these rows, and there is nothing "
                "to search around. Lower learning_rate_init, or leave it at None."
            )
        return Space.around(
            self.estimator, len(self.y), default.n_pieces, default.sizes[0]
        )

    def _rivals(self, first: list[Trial]) -> list[Rival]:
        if not self.stops:
            return []
        ended = [trial for trial in first if trial.ensembles]
        apart = margin([trial.ensembles[0].scores for trial in ended])
        return [Rival(trial.scores, trial.connections, apart) for trial in ended]

    def _repeated(
        self,
        trials: dict[tuple[int, int], Trial],
        known: dict[tuple[int, int], Trial],
        n_trials: int,
    ) -> dict[tuple[int, int], Trial]:
        """Measure the finalists again, with other folds and seeds."""
        final = finalists(rows_of(trials), self.max_connections)
        jobs = [
            Job(number, repeat, trials[number, 0].settings, [])
            for repeat, number in product(range(1, len(self.folds)), final)
        ]
        for job, trial in zip(jobs, self._trials(known, jobs, n_trials), strict=True):
            trials[job.number, job.repeat] = trial
        return trials

    def _trials(
        self, known: dict[tuple[int, int], Trial], jobs: Sequence[Job], n_trials: int
    ) -> list[Trial]:
        """Return the trials of these jobs, those that are stored without running."""
        found: dict[tuple[int, int], Trial] = {}

        def over(job: Job, trial: Trial, stored: bool) -> None:
            found[job.number, job.repeat] = trial
            self.watch(Step(job.number, n_trials, job.repeat, trial, stored))

        new = []
        for job in jobs:
            stored = known.get((job.number, job.repeat))
            if stored is not None:
                over(job, stored, True)
            elif self.workers is None:
                over(job, self._run_here(job), False)
            else:
                new.append(job)
        self._run_elsewhere(new, over)
        return [found[job.number, job.repeat] for job in jobs]

    def _run_here(self, job: Job) -> Trial:
        about = self.estimator, job.settings, self.X, self.y, self.folds[job.repeat]

        def work() -> Trial:
            return run_trial(*about, self._seeds(job.repeat), self.scorer, job.rivals)

        return self.records.run(job.number, job.repeat, job.settings, work)

    def _run_elsewhere(
        self, jobs: Sequence[Job], over: Callable[[Job, Trial, bool], None]
    ) -> None:
        if self.workers is None or not jobs:
            return
        about = [(job.number, job.repeat, job.settings) for job in jobs]
        with self.records.claimed(about) as keep:
            for job, trial, where in self.workers.run(jobs):
                place = job.number, job.repeat, job.settings
                over(job, keep(*place, trial, where), False)


@contextmanager
def _opened(folder: str | PathLike[str] | None) -> Iterator[Store | None]:
    if folder is None:
        yield None
        return
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"store: expected a folder, got the file {folder}.")
    with Store(Path(folder, "runs.sqlite")) as store:
        yield store


def _named(scoring: Any) -> str | None:
    if scoring is None or isinstance(scoring, str):
        return scoring
    return str(getattr(scoring, "__qualname__", scoring))


def _score_name(estimator: Any, scoring: Any) -> str:
    usual = "accuracy" if is_classifier(estimator) else "R²"
    return usual if scoring is None else str(_named(scoring))
