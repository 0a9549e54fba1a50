"""InputTimelapse: a GIF of the input layer while it trains."""

import io
from os import PathLike
from typing import Any

import numpy as np

from cofire.callbacks import Callback
from cofire.persistence.atomic import write_atomically
from cofire.plot.connectivity import ConnectivityDisplay
from cofire.plot.display import FONTS
from cofire.plot.look import needed, our_look
from cofire.plot.models import columns_of_inputs, feature_names, per_feature
from cofire.training.progress import Progress
from cofire.training.record import EpochRecord

MOST_FRAMES = 80


class InputTimelapse(Callback):
    """Record the connections of each feature, epoch by epoch; `save` writes a GIF.

    Of a model with several networks the first is watched. `counts` has a row per
    entry of `epochs`; epoch 0 is the network before training. every: epochs between
    two of them.

    >>> import tempfile
    >>> from cofire import SparseMLPClassifier
    >>> from cofire.plot import InputTimelapse
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> timelapse = InputTimelapse()
    >>> model = SparseMLPClassifier(max_iter=3, random_state=0, callbacks=[timelapse])
    >>> _ = model.fit(X, y)
    >>> timelapse.counts.shape
    (4, 64)
    >>> timelapse.save(tempfile.mkdtemp() + "/pixels.gif", image_shape=(8, 8))
    """

    def __init__(self, every: int = 1) -> None:
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"every must be a number of epochs >= 1, got {every!r}")
        self.every = every
        self.epochs: list[int] = []
        self._rows: list[np.ndarray] = []
        self._names: list[str] = []

    @property
    def counts(self) -> np.ndarray:
        """The connections: (recorded epochs, features)."""
        return np.array(self._rows)

    def on_train_begin(self, estimator: Any, progress: Progress, n_epochs: int) -> None:
        known = sum(epoch <= progress.epoch for epoch in self.epochs)
        del self.epochs[known:], self._rows[known:]
        self._columns = columns_of_inputs(estimator)
        self._names = feature_names(estimator, estimator.n_features_in_)
        if not known:
            self._note(progress)

    def on_epoch_end(self, progress: Progress, record: EpochRecord) -> None:
        if progress.epoch % self.every == 0:
            self._note(progress)

    def _note(self, progress: Progress) -> None:
        counts = per_feature(progress.network, self._columns, len(self._names))
        self.epochs.append(progress.epoch)
        self._rows.append(counts.astype(np.int32))

    def state(self) -> dict[str, Any]:
        rows = {f"row.{i}": row for i, row in enumerate(self._rows)}
        return {"epochs": list(self.epochs), **rows}

    def restore(self, state: dict[str, Any]) -> None:
        self.epochs = list(state["epochs"])
        self._rows = [state[f"row.{i}"] for i in range(len(self.epochs))]

    def save(
        self,
        path: str | PathLike[str],
        *,
        image_shape: tuple[int, ...] | None = None,
        seconds: float = 6.0,
        dpi: int = 80,
    ) -> None:
        """Write a GIF that shows at most 80 of the epochs in `seconds`, and the end.

        image_shape: (rows, columns) of images; without it, features are bars. All
        frames have the same scale.
        """
        if not self._rows:
            raise ValueError(
                "nothing was recorded yet: pass callbacks=[timelapse] to an estimator, "
                "call fit, then save"
            )
        if not str(path).lower().endswith(".gif"):
            raise ValueError(
                f"path: a GIF is written, so the name ends in .gif; got {str(path)!r}"
            )
        if not seconds > 0:
            raise ValueError(f"seconds must be more than 0, got {seconds!r}")
        chosen = _chosen(len(self._rows))
        frames = self._frames(chosen, image_shape, dpi)
        each = max(20, round(1000 * seconds / len(frames)))
        content = io.BytesIO()
        frames[0].save(
            content,
            format="GIF",
            save_all=True,
            append_images=frames[1:],
            duration=[each] * (len(frames) - 1) + [max(each, 2000)],
            loop=0,
        )
        write_atomically(path, content.getvalue())

    def _frames(
        self, chosen: list[int], image_shape: tuple[int, ...] | None, dpi: int
    ) -> list[Any]:
        image = needed("PIL.Image")
        most, own = 1.0, self._names
        for i in chosen:
            display = ConnectivityDisplay(
                self._rows[i], image_shape=image_shape, names=own
            )
            values = display.values if image_shape is None else display.image()
            most = max(most, float(values.max()))
        pictures = []
        for i in chosen:
            display = ConnectivityDisplay(
                self._rows[i], image_shape=image_shape, names=own
            )
            figure = _figure(display, f"Epoch {self.epochs[i]}", most, dpi)
            pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
            pictures.append(image.fromarray(pixels).quantize(64, dither=0))
        return pictures


def _figure(display: ConnectivityDisplay, title: str, most: float, dpi: int) -> Any:
    """Draw a frame on a figure that no window shows."""
    with our_look(**FONTS):
        size = (4.8, 4.4) if display.image_shape else (6.4, 4)
        figure = needed("matplotlib.figure").Figure(size, dpi, layout="constrained")
        needed("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
        display.plot(ax=figure.subplots(), max_value=most)
        display.ax_.set_title(title, loc="left")
        figure.canvas.draw()
    return figure


def _chosen(n: int) -> list[int]:
    """Choose at most MOST_FRAMES of n, the first and the last among them.

    >>> _chosen(3), len(_chosen(500)), _chosen(500)[-1]
    ([0, 1, 2], 80, 499)
    """
    at = np.linspace(0, n - 1, min(n, MOST_FRAMES))
    return np.unique(np.rint(at).astype(int)).tolist()
