"""What to run: a run is a value, a grid is a list of runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any

from cofire import profiles
from cofire.errors import unknown_name
from cofire.lab.names import BASELINES, is_full
from cofire.methods import METHODS
from cofire.persistence.values import canonical
from cofire.profiles import DEFAULTS_0_1

PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "masked": profiles.MASKED,
    "sparse": profiles.SPARSE,
    "house": profiles.HOUSE,
    "defaults_0_1": profiles.DEFAULTS_0_1,
}
"""How a network is trained.

The default recipe, the paper's two protocols, that of the house method, and what the
defaults were in version 0.1.
"""
BASELINE_PROFILE = "scikit-learn"
"""What runs of baselines have as their profile."""
TUNING_PROFILE = "tune"
"""What trials of `cofire.tune` have; their scores are those of validation rows."""


def profile_parameters(profile: str, task: str) -> dict[str, Any]:
    """Return the parameters of an estimator whose user names a profile only.

    Profiles that leave open the method, the sizes and epsilon have those of version
    0.1, but the house profile is for the house method.

    >>> profile_parameters("default", "regression")
    {}
    >>> profile_parameters("masked", "classification")["method"]
    'ctre_sim'
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    own = PROFILES[profile]
    if not own:
        return {}
    found = DEFAULTS_0_1 | ({"method": "cofire"} if profile == "house" else {}) | own
    return for_task(found, profile, task)


def for_task(settings: Mapping[str, Any], profile: str, task: str) -> dict[str, Any]:
    """Return the settings of a profile that an estimator for this task has."""
    if task != "regression":
        return dict(settings)
    found = profiles.for_regressor(settings)
    if profile == "defaults_0_1":  # the regressor had defaults of its own
        found |= {"solver": "adam", "learning_rate_init": 0.001}
    return found


def trains_on_all_rows(profile: str) -> bool:
    """Whether runs of this profile leave no training rows for validation."""
    return profile in ("default", BASELINE_PROFILE)


def keeps_last_epoch(profile: str) -> bool:
    """Whether the network that counts is the last one, not the best validated one.

    >>> keeps_last_epoch("house"), keeps_last_epoch("masked")
    (True, False)
    """
    found = PROFILES.get(profile, {})
    return trains_on_all_rows(profile) or found.get("restore_best") is False


def n_hidden_layers(profile: str) -> int:
    """How many hidden layers of `Run.hidden` neurons a network has."""
    return 2 if profile == "default" else 3


@dataclass(frozen=True)
class Run:
    """One training, distinguished from all others by these values.

    method: may be one of `BASELINES`; such a run has no sizes, epsilon and epochs.
    hidden: neurons in each hidden layer: `n_hidden_layers`. epsilon: None for a dense
    network, or to have the recipe of the default profile choose. epochs: 0 likewise.
    split: None for the paper's split of the rows, else the number of a random split.
    options: canonical JSON of further parameters of the estimator (see `Run.of`).
    """

    data: str
    method: str
    hidden: int
    epsilon: float | None
    seed: int
    profile: str = "masked"
    epochs: int = 500
    split: int | None = None
    options: str = "{}"

    def __post_init__(self) -> None:
        if self.epsilon is not None:  # 1 and 1.0 are the same run, with one key
            object.__setattr__(self, "epsilon", float(self.epsilon))

    @classmethod
    def of(cls, *, options: Mapping[str, Any] | None = None, **fields: Any) -> "Run":
        """Make a run, with names that exist; a dense network has no epsilon.

        A baseline has nothing of a network: what else is given is left out.

        The runs of a store are not checked like this: a method may belong to a package
        that is not installed here.

        >>> Run.of(data="madelon", method="set", hidden=100, epsilon=1, seed=0).key
        '["madelon","set",100,1.0,0,"masked",500,null,"{}"]'
        """
        fields = {"epsilon": None} | fields
        if fields["method"] in BASELINES:
            none = {"hidden": 0, "epsilon": None, "epochs": 0}
            fields |= {**none, "profile": BASELINE_PROFILE}
        run = cls(**fields, options=canonical(dict(options or {})))
        if run.method in BASELINES:
            return run
        if run.profile not in PROFILES:
            raise unknown_name("profile", run.profile, PROFILES)
        if run.method not in METHODS:
            raise unknown_name("method", run.method, METHODS)
        return replace(run, epsilon=None) if METHODS[run.method].full else run

    @property
    def key(self) -> str:
        """Return a text that is the same for equal runs only."""
        return canonical([getattr(self, field.name) for field in fields(self)])

    @property
    def cell(self) -> "Cell":
        """Return the run without its seed: a table has one entry for it."""
        rest = asdict(self)
        del rest["seed"]
        return Cell(**rest)


@dataclass(frozen=True)
class Cell:
    """What runs that differ in their seed have in common."""

    data: str
    method: str
    hidden: int
    epsilon: float | None
    profile: str = "masked"
    epochs: int = 500
    split: int | None = None
    options: str = "{}"

    def run(self, seed: int) -> Run:
        """Return the run of this cell with a seed."""
        return Run(**asdict(self), seed=seed)


def grid(
    *,
    data: Iterable[str],
    methods: Iterable[str],
    hidden: Iterable[int],
    epsilon: Iterable[float],
    seeds: Iterable[int],
    **rest: Any,
) -> Iterator[Run]:
    """Yield all combinations; a dense network comes once, not once per epsilon.

    >>> methods = "set", "dense"
    >>> runs = grid(data=["madelon"], methods=methods, hidden=[100], epsilon=[1, 5],
    ...     seeds=range(3))
    >>> len(list(runs))
    9
    """
    hidden, epsilon, seeds = list(hidden), list(epsilon), list(seeds)
    for name, n, method in product(data, hidden, methods):
        for e in [None] if is_full(method) else epsilon:
            for seed in seeds:
                yield Run.of(
                    data=name, method=method, hidden=n, epsilon=e, seed=seed, **rest
                )
