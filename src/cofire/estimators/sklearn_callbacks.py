"""scikit-learn's own callbacks (from 1.9 on), told what our loop does."""

from typing import Any

from cofire.callbacks import Callback
from cofire.estimators.prepare import COLUMNS
from cofire.training.progress import Progress
from cofire.training.record import EpochRecord

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
    own = getattr(estimator, "_skl_callbacks", [])
    has_callbacks = bool(own) or hasattr(estimator, "_parent_callback_ctx")
    return [_Bridge(estimator, X, y)] if has_callbacks else []


class _Bridge(Callback):
    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self.estimator, self.X, self.y = estimator, X, y

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        self.fitting = estimator  # a copy that has the network
        context = self.estimator._init_callback_context(max_subtasks=n_epochs)
        self.context = context
        context.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> bool:
        task = self.context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            X=self.X,
            y=self.y,
            reconstruction_attributes=lambda: {
                name: value
                for name, value in vars(self.fitting).items()
                if name in (*COLUMNS, "_fitted")
            },
        )

    def on_train_end(self, progress: Progress) -> None:
        self.context.call_on_fit_task_end(estimator=self.estimator, X=self.X, y=self.y)
