"""Watch the input layer find its pixels: input_layer.gif, and the end as a picture."""

import numpy as np
from sklearn.datasets import load_digits

from cofire import SparseMLPClassifier, profiles
from cofire.plot import ConnectivityDisplay, InputTimelapse

# Digits of 8 x 8 pixels in the middle of 16 x 16; around them is noise.
X, y = load_digits(return_X_y=True)
images = np.random.default_rng(0).integers(0, 17, (len(X), 16, 16))
images[:, 4:12, 4:12] = X.reshape(-1, 8, 8)
X = images.reshape(len(X), 256).astype(float)

timelapse = InputTimelapse()
settings = profiles.HOUSE | {"max_iter": 60, "standardize": True}
model = SparseMLPClassifier(
    (200, 200), epsilon=2, random_state=0, callbacks=[timelapse], **settings
).fit(X, y)

inside = np.zeros((16, 16), bool)
inside[4:12, 4:12] = True
for epoch in (0, 60):
    counts = timelapse.counts[epoch]
    fraction = counts[inside.ravel()].sum() / counts.sum()
    print(f"after epoch {epoch}: {fraction:.0%} of the connections see the digit")

timelapse.save("input_layer.gif", image_shape=(16, 16))
display = ConnectivityDisplay.from_estimator(model, image_shape=(16, 16))
display.figure_.savefig("input_layer.png", dpi=120)
