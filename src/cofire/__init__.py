"""cofire: neural networks that are sparse from the first step to the last.

Public are the names in `cofire.__all__`, and of the modules in `cofire.PUBLIC_MODULES`
the names in their `__all__`. Everything else may change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofire import profiles
    from cofire.diagnostics.doctor import doctor
    from cofire.engine.augmentation import Augmentation
    from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
    from cofire.explain import SparseFeatureSelector
    from cofire.methods import METHODS
    from cofire.saving import load, save
    from cofire.tuning import tune

    __version__: str

__all__ = [
    "METHODS",
    "Augmentation",
    "SparseFeatureSelector",
    "SparseMLPClassifier",
    "SparseMLPRegressor",
    "doctor",
    "load",
    "profiles",
    "save",
    "tune",
]

PUBLIC_MODULES = (
    "cofire.callbacks",
    "cofire.data",
    "cofire.energy",
    "cofire.errors",
    "cofire.explain",
    "cofire.export",
    "cofire.methods",
    "cofire.plot",
    "cofire.profiles",
    "cofire.saving",
    "cofire.similarity",
    "cofire.topology.select",
    "cofire.tuning",
)

# Where the public names live. They are imported when asked for, so that `cofire --help`
# need not wait for scikit-learn: 0.1 s, where `import sklearn` alone takes 1.0 s
# (time cofire --help; python -X importtime -c "import sklearn").
_HOMES = {
    "Augmentation": "cofire.engine.augmentation",
    "METHODS": "cofire.methods",
    "SparseFeatureSelector": "cofire.explain",
    "SparseMLPClassifier": "cofire.estimators",
    "SparseMLPRegressor": "cofire.estimators",
    "doctor": "cofire.diagnostics.doctor",
    "load": "cofire.saving",
    "save": "cofire.saving",
    "tune": "cofire.tuning",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if f"cofire.{name}" in PUBLIC_MODULES:
        return import_module(f"cofire.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'cofire' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    modules = [name.split(".")[1] for name in PUBLIC_MODULES]
    return sorted({*__all__, *modules, "PUBLIC_MODULES", "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cofire")
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
