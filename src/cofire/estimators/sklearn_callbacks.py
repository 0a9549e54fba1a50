"""scikit-learn's own callbacks (from 1.9 on), told what our loop does."""

from typing import Any

from cofire.callbacks import Callback
from cofire.training.progress import Progress, Record

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # an older scikit-learn: set_callbacks does not exist

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


def sklearn_bridge(estimator: Any, X: Any, y: Any) -> list[Callback]:
    """One callback of ours that tells those of `set_callbacks`, if there are any."""
    if not hasattr(estimator, "_init_callback_context"):
        return []
    return [_Bridge(X, y)] if _has_callbacks(estimator) else []


def sklearn_context(estimator: Any) -> dict[str, Any]:
    """What `with_callbacks` must find on the estimator after a fit, if it is there."""
    names = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
    return {name: vars(estimator)[name] for name in names if name in vars(estimator)}


def _has_callbacks(estimator: Any) -> bool:
    own = getattr(estimator, "_skl_callbacks", [])
    return bool(own) or hasattr(estimator, "_parent_callback_ctx")


class _Bridge(Callback):
    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        self.estimator = estimator
        self.context = estimator._init_callback_context(max_subtasks=n_epochs)
        self.context.call_on_fit_task_begin(estimator=estimator, X=self.X, y=self.y)

    def on_epoch_end(self, progress: Progress, record: Record) -> bool:
        task = self.context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=lambda: {
                **{k: v for k, v in vars(self.estimator).items() if k.endswith("_")},
                "network_": progress.network,
            },
        )

    def on_train_end(self, progress: Progress) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, X=self.X, y=self.y)
