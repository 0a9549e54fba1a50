"""cofire: neural networks that are sparse from the first step to the last."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofire import profiles
    from cofire.diagnostics.doctor import doctor
    from cofire.engine.augmentation import Augmentation
    from cofire.estimators import SparseMLPClassifier, SparseMLPRegressor
    from cofire.methods import METHODS
    from cofire.saving import load

    __version__: str

__all__ = [
    "METHODS",
    "Augmentation",
    "SparseMLPClassifier",
    "SparseMLPRegressor",
    "doctor",
    "load",
    "profiles",
]

# Where the public names live. They are imported when asked for, so that `cofire --help`
# need not wait for scikit-learn: 0.1 s, where `import sklearn` alone takes 1.0 s
# (time cofire --help; python -X importtime -c "import sklearn").
_HOMES = {
    "Augmentation": "cofire.engine.augmentation",
    "METHODS": "cofire.methods",
    "SparseMLPClassifier": "cofire.estimators",
    "SparseMLPRegressor": "cofire.estimators",
    "doctor": "cofire.diagnostics.doctor",
    "load": "cofire.saving",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name == "profiles":
        return import_module("cofire.profiles")
    if name not in _HOMES:
        raise AttributeError(f"module 'cofire' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cofire")
    except PackageNotFoundError:  # a source tree that was never installed
        return "unknown"
