"""Trials in the run store: each is a run, written when it is over, and read back."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse

from cofire.errors import DivergenceError
from cofire.estimators.description import plain_parameters
from cofire.lab.experiments.grid import TUNING_PROFILE, Run
from cofire.lab.experiments.results import Outcome, Result
from cofire.lab.experiments.runner import signs_of_life
from cofire.lab.experiments.store import Store, StoreError
from cofire.lab.workers.attempt import machine
from cofire.persistence.values import canonical
from cofire.tuning.space import VERSION, Settings
from cofire.tuning.trial import Ensemble, Fold, Trial

# They change how a fit looks and how long it takes, not what comes of it.
WITHOUT_EFFECT = ("n_jobs", "verbose", "checkpoint", "callbacks", "random_state")


@dataclass(frozen=True)
class Records:
    """The trials of one search in a store; without a store, nothing is kept.

    data: what the runs are said to be about. search: identifies all that the trials
    depend on; see `identity`.
    """

    store: Store | None
    data: str
    search: str
    estimator: Any
    task: str
    seed: int

    def trials(self) -> dict[tuple[int, int], Trial]:
        """Return the trials that are over, by number and repeat.

        Those that diverged are over too. Rows count, not what they are called: a copy
        of a file in another folder is the same search.
        """
        if self.store is None:
            return {}
        about = {"profile": TUNING_PROFILE, "seed": self.seed}
        found = {}
        for row in self.store.rows(**about, status="failed"):
            options = json.loads(row["options"])
            if options["search"] == self.search and _diverged(row["error"]):
                found[options["trial"], row["split"]] = Trial(_settings(row), [])
        for result in self.store.results(**about, curves=CURVES):
            options = json.loads(result.run.options)
            if options["search"] == self.search:
                found[options["trial"], result.run.split] = trial_of(result)
        return found

    def run(
        self, number: int, repeat: int, settings: Settings, work: Callable[[], Trial]
    ) -> Trial:
        """Return what the work gives, and keep it; a trial that diverges is kept too.

        Another process that runs the same search at the same time is an error.
        """
        with self.claimed([(number, repeat, settings)]) as keep:
            try:
                trial: Trial | DivergenceError = work()
            except DivergenceError as error:
                trial = error
            return keep(number, repeat, settings, trial)

    @contextmanager
    def claimed(
        self, trials: Sequence[tuple[int, int, Settings]]
    ) -> Iterator[Callable[..., Trial]]:
        """Claim trials; yield what keeps the result of each.

        Those that it was not called for are waiting again at the end, after an
        interrupt too: the same search runs them again.
        """
        if self.store is None:
            yield self._kept
            return
        runs = [self._run(*trial) for trial in trials]
        self.store.add(runs)
        try:
            for run, (number, _, _) in zip(runs, trials, strict=True):
                if not self.store.claim(run, again=True):
                    raise StoreError(
                        f"{self.store.path}: another process runs trial {number} of "
                        "this search. Wait until it has ended, or name another folder."
                    )
            with signs_of_life(self.store):
                yield self._kept
        finally:
            self.store.give_back(runs)

    def _kept(
        self,
        number: int,
        repeat: int,
        settings: Settings,
        trial: Trial | DivergenceError,
        where: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Write a trial that is over; where: the machine, if it was another one."""
        if self.store is not None:
            run = self._run(number, repeat, settings)
            if isinstance(trial, Trial):
                here = machine(_threads(self.estimator)) if where is None else where
                self.store.finish(run, self._outcome(trial), here)
            else:
                self.store.fail(run, f"{DivergenceError.__name__}: {trial}")
        return trial if isinstance(trial, Trial) else Trial(settings, [])

    def _run(self, number: int, repeat: int, settings: Settings) -> Run:
        method, sizes = self.estimator.method, settings.get("hidden_layer_sizes", [0])
        more = {name: v for name, v in settings.items() if name != "epsilon"}
        return Run(
            data=self.data,
            method=method if isinstance(method, str) else type(method).__name__.lower(),
            hidden=max(sizes),
            epsilon=settings.get("epsilon"),
            seed=self.seed,
            profile=TUNING_PROFILE,
            epochs=self.estimator.max_iter or 0,
            split=repeat,
            options=canonical({**more, "trial": number, "search": self.search}),
        )

    def _outcome(self, trial: Trial) -> Outcome:
        whole = trial.ensembles[-1] if trial.ensembles else None
        score = float(np.mean(whole.scores)) if whole else trial.scores[-1]
        connections = whole.connections if whole else trial.connections[-1]
        return Outcome(
            score=score,
            validation_score=score,
            best_epoch=len(trial.scores),
            connections=round(connections),
            density=trial.density,
            seconds=trial.seconds,
            curves={
                "validation_score": np.asarray(trial.scores, np.float32),
                "connections": np.asarray(trial.connections, np.float32),
            },
            notes={
                "task": self.task,
                "sizes": trial.sizes,
                "n_pieces": trial.n_pieces,
                "networks": int(self.estimator.n_networks),
                "ensembles": [asdict(one) for one in trial.ensembles],
                "stopped": trial.stopped,
            },
        )


CURVES = ("validation_score", "connections")


def _settings(row: dict[str, Any]) -> Settings:
    options = json.loads(row["options"])
    found = {n: v for n, v in options.items() if n not in ("trial", "search")}
    found |= {} if row["epsilon"] is None else {"epsilon": row["epsilon"]}
    return dict(sorted(found.items()))


def _diverged(error: str | None) -> bool:
    return (error or "").startswith(DivergenceError.__name__)


def trial_of(result: Result) -> Trial:
    """Return the trial that a run of the store was."""
    notes, curves = result.notes, result.curves
    run = {"options": result.run.options, "epsilon": result.run.epsilon}
    return Trial(
        _settings(run),
        [Ensemble(**one) for one in notes["ensembles"]],
        _listed(curves, "validation_score"),
        _listed(curves, "connections"),
        result.seconds,
        notes["sizes"],
        notes["n_pieces"],
        result.density,
    )


def _listed(curves: Mapping[str, np.ndarray], name: str) -> list[float]:
    """Return a curve; runs that were imported from a file have none."""
    return curves[name].tolist() if name in curves else []


def _threads(estimator: Any) -> int:
    from cofire.core.machine import n_threads

    return n_threads(estimator.n_jobs)


def identity(
    estimator: Any, X: Any, y: Any, folds: Sequence[Sequence[Fold]], **more: Any
) -> str:
    """Return a text that is the same for equal searches: rows, parameters, folds."""
    parameters, _ = plain_parameters(estimator)
    own = {k: v for k, v in parameters.items() if k not in WITHOUT_EFFECT}
    about = {"kind": type(estimator).__name__, "parameters": own, "space": VERSION}
    digest = hashlib.sha256(canonical(about | more).encode())
    _feed(digest, X)
    _feed(digest, y)
    for fold in folds:
        for train, test in fold:
            _feed(digest, train)
            _feed(digest, test)
    return digest.hexdigest()[:16]


def _feed(digest: Any, rows: Any) -> None:
    """Add rows to a digest that is the same in every process."""
    if scipy.sparse.issparse(rows):
        found = rows.tocsr()
        for part in (found.indptr, found.indices, found.data):
            _feed(digest, part)
    elif hasattr(rows, "dtypes") or hasattr(rows, "iloc"):
        from pandas.util import hash_pandas_object

        columns = getattr(rows, "columns", [getattr(rows, "name", None)])
        digest.update(repr([str(name) for name in columns]).encode())
        digest.update(hash_pandas_object(rows, index=False).to_numpy().tobytes())
    else:
        array = np.asarray(rows)
        if array.dtype.hasobject:
            array = array.astype(str)
        digest.update(f"{array.dtype.str}{array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
