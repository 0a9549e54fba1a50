"""The GIF of the input layer."""

import numpy as np
import pytest
from PIL import Image

from cofire import SparseMLPClassifier
from cofire.callbacks import Callback
from cofire.plot import InputTimelapse


class Counts(Callback):
    """Connections per input after each epoch, by the dense matrix."""

    def __init__(self):
        self.found = []

    def on_epoch_end(self, progress, record):
        weights = progress.network.layers[0].to_scipy().toarray()
        self.found.append((weights != 0).sum(axis=0).tolist())


def fitted(digits, **how):
    timelapse, counts = InputTimelapse(how.pop("every", 1)), Counts()
    how = {"max_iter": 6, "random_state": 0, "n_networks": 1, "n_pieces": 0} | how
    model = SparseMLPClassifier((40,), callbacks=[timelapse, counts], **how)
    return model.fit(*digits), timelapse, counts


def test_the_connections_of_each_feature_are_recorded(digits):
    _, timelapse, counts = fitted(digits)
    assert timelapse.epochs == list(range(7))
    assert timelapse.counts[1:].tolist() == counts.found
    assert timelapse.counts[0].sum() == timelapse.counts[-1].sum()
    assert (timelapse.counts[0] != timelapse.counts[-1]).any()
    _, some, counts = fitted(digits, every=3)
    assert some.epochs == [0, 3, 6]
    assert some.counts[1:].tolist() == counts.found[2::3]


def test_a_second_fit_begins_again(digits):
    model, timelapse, _ = fitted(digits)
    first = timelapse.counts
    model.fit(*digits)
    assert timelapse.epochs == list(range(7))
    assert (timelapse.counts == first).all()


def test_a_fit_that_continues_from_a_checkpoint_has_all_epochs(digits, tmp_path):
    class Stop(Callback):
        def on_epoch_end(self, progress, record):
            if progress.epoch == 4:
                raise KeyboardInterrupt

    def model(*callbacks):
        how = {"max_iter": 6, "random_state": 0, "n_networks": 1}
        return SparseMLPClassifier(
            (40,), checkpoint=tmp_path, callbacks=callbacks, **how
        )

    whole, again = InputTimelapse(), InputTimelapse()
    with pytest.raises(KeyboardInterrupt):
        model(InputTimelapse(), Stop()).fit(*digits)
    resumed = model(again, Callback()).fit(*digits)
    plain = model(whole)
    plain.set_params(checkpoint=None).fit(*digits)
    assert again.epochs == whole.epochs == list(range(7))
    assert (again.counts == whole.counts).all()
    assert resumed.n_iter_ == 6


@pytest.mark.parametrize("image_shape", [(8, 8), None])
def test_the_gif_has_a_frame_per_epoch_and_holds_the_last(
    digits, tmp_path, image_shape
):
    _, timelapse, _ = fitted(digits)
    path = tmp_path / "pixels.gif"
    timelapse.save(path, image_shape=image_shape, seconds=1.4)
    with Image.open(path) as gif:
        assert gif.n_frames == 7 and gif.info["loop"] == 0
        durations, frames = [], []
        for i in range(gif.n_frames):
            gif.seek(i)
            durations.append(gif.info["duration"])
            frames.append(np.asarray(gif.convert("RGB")).astype(int))
    assert durations == [200] * 6 + [2000]
    assert len({frame.shape for frame in frames}) == 1
    for a, b in zip(frames, frames[1:], strict=False):
        assert (a != b).any()
    assert path.stat().st_size < 200_000


def test_long_fits_are_thinned_to_a_short_gif(digits, tmp_path):
    timelapse = InputTimelapse()
    timelapse.restore(
        {
            "epochs": list(range(300)),
            **{f"row.{i}": np.array([i, 300 - i], np.int32) for i in range(300)},
        }
    )
    timelapse._names = ["a", "b"]
    timelapse.save(tmp_path / "long.gif", dpi=30)
    with Image.open(tmp_path / "long.gif") as gif:
        assert gif.n_frames == 80


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(
        ValueError, match="every must be a number of epochs >= 1, got 0"
    ):
        InputTimelapse(0)
    timelapse = InputTimelapse()
    timelapse.restore({"epochs": [0], "row.0": np.ones(4)})
    with pytest.raises(ValueError, match=r"the name ends in \.gif; got .*a\.png"):
        timelapse.save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="nothing was recorded yet"):
        InputTimelapse().save(tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()
