"""A dense float64 MLP with a mask: boring, never optimised, the judge of the engine.

Arrays are sample-major here, (n_samples, n_neurons), as in a textbook: in layout too
the oracle shares nothing with the engine.
"""

import numpy as np

from helpers import naive

LEAKY_SLOPE = float(np.float32(0.01))


def activate(z, activation):
    if activation == "relu":
        return np.where(z > 0, z, 0.0)
    if activation == "leaky_relu":
        return np.where(z > 0, z, LEAKY_SLOPE * z)
    if activation == "tanh":
        return np.tanh(z)
    return z


def slope(z, activation):
    """Derivative of the activation at z; at a kink, that of the side below."""
    if activation == "relu":
        return np.where(z > 0, 1.0, 0.0)
    if activation == "leaky_relu":
        return np.where(z > 0, 1.0, LEAKY_SLOPE)
    if activation == "tanh":
        return 1.0 - np.tanh(z) ** 2
    return np.ones_like(z)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sigmoid(z):
    e = np.exp(-np.abs(z))  # never overflows
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


def finish(z, output):
    """What the network says, from the last layer's sums."""
    return {"softmax": softmax, "sigmoid": sigmoid, "identity": lambda z: z}[output](z)


def wanted(targets, n_out, smoothing=0.0):
    """Class numbers as rows with a single one; other targets as they are.

    `smoothing`: this share of them is spread over all classes, or moved to 1/2.
    """
    has_classes = targets.ndim == 1
    t = np.eye(n_out)[targets] if has_classes else targets.astype(np.float64)
    return (1 - smoothing) * t + smoothing / (n_out if has_classes else 2)


def losses(z, targets, output, smoothing=0.0):
    """Loss of each sample, from the last layer's sums."""
    t = wanted(targets, z.shape[1], smoothing)
    if output == "softmax":
        top = z.max(axis=1, keepdims=True)
        log_sum = top + np.log(np.exp(z - top).sum(axis=1, keepdims=True))
        return (t * (log_sum - z)).sum(axis=1)
    if output == "sigmoid":
        return (np.maximum(z, 0) - z * t + np.log1p(np.exp(-np.abs(z)))).sum(axis=1)
    return 0.5 * ((z - t) ** 2).sum(axis=1)


class DenseNetwork:
    """Weights and masks of shape (n_out, n_in), biases, and moments like them."""

    def __init__(self, network, optimizer=None, label_smoothing=0.0):
        self.label_smoothing = float(np.float32(label_smoothing))  # as in the engine
        self.activation, self.output = network.activation, network.output
        self.layers = network.layers
        self.masks = [self._dense(i, np.ones(x.nnz)) for i, x in enumerate(self.layers)]
        self.weights = [naive.to_dense(x).astype(np.float64) for x in self.layers]
        self.biases = [x.bias.astype(np.float64) for x in self.layers]
        self.nearest_kink = (
            np.inf
        )  # the hidden sum nearest to 0, of those that are not 0
        self.moments = []
        if optimizer is not None:
            # The engine's settings are float32 numbers: so are these, in float64.
            self.kind, self.steps_done = optimizer.kind, optimizer.steps_done
            self.settings = {
                name: value if isinstance(value, bool) else float(np.float32(value))
                for name, value in optimizer.settings().items()
            }
            self.moments = [
                (
                    [self._dense(i, moment) for moment in state.weights],
                    [moment.astype(np.float64) for moment in state.bias],
                )
                for i, state in enumerate(optimizer.state)
            ]

    def _dense(self, i, values):
        layer = self.layers[i]
        dense = np.zeros((layer.n_out, layer.n_in))
        dense[layer.rows, layer.indices] = values
        return dense

    def connections(self, i, dense):
        """The entries of a dense (n_out, n_in) array where layer i has a connection."""
        return dense[self.layers[i].rows, self.layers[i].indices]

    # ---- forward and backward --------------------------------------------------------

    def sums(self, x):
        """Each layer's sums before its activation."""
        z = []
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            below = x if i == 0 else activate(z[-1], self.activation)
            z.append(below @ w.T + b)
        return z

    def predict(self, x):
        return finish(self.sums(x)[-1], self.output)

    def loss(self, x, targets, sample_weight):
        """Mean over the batch, weighted."""
        each = losses(self.sums(x)[-1], targets, self.output, self.label_smoothing)
        return (sample_weight * each).sum() / sample_weight.sum()

    def gradients(self, x, targets, sample_weight):
        """Per layer (d loss / d weights, d loss / d bias), 0 without a connection."""
        z = self.sums(x)
        for hidden in z[:-1]:
            size = np.abs(hidden[hidden != 0]).min(initial=np.inf)
            self.nearest_kink = min(self.nearest_kink, size)
        share = (sample_weight / sample_weight.sum())[:, None]
        t = wanted(targets, z[-1].shape[1], self.label_smoothing)
        delta = share * (finish(z[-1], self.output) - t)  # so it is for all losses
        found = []
        for i in reversed(range(len(z))):
            below = x if i == 0 else activate(z[i - 1], self.activation)
            found.append((delta.T @ below * self.masks[i], delta.sum(axis=0)))
            if i > 0:
                delta = (delta @ self.weights[i]) * slope(z[i - 1], self.activation)
        return found[::-1]

    # ---- training --------------------------------------------------------------------

    def step(self, x, targets, sample_weight):
        """One batch, one step of the optimiser."""
        self.steps_done += 1
        found = self.gradients(x, targets, sample_weight)
        for i, (weight_gradient, bias_gradient) in enumerate(found):
            weight_moments, bias_moments = self.moments[i]
            self._move(self.weights[i], weight_gradient, weight_moments, is_bias=False)
            self._move(self.biases[i], bias_gradient, bias_moments, is_bias=True)

    def _move(self, w, g, moments, is_bias):
        if not is_bias:
            g = g + self.settings["alpha"] * w
        rule = self._sgd if self.kind == "sgd" else self._adam
        w -= rule(g, *moments)

    def _sgd(self, g, v):
        rate, momentum = self.settings["learning_rate"], self.settings["momentum"]
        v[:] = momentum * v + g
        return rate * (g + momentum * v) if self.settings["nesterov"] else rate * v

    def _adam(self, g, m, v):
        s, t = self.settings, self.steps_done
        m[:] = s["beta_1"] * m + (1 - s["beta_1"]) * g
        v[:] = s["beta_2"] * v + (1 - s["beta_2"]) * g**2
        correction = np.sqrt(1 - s["beta_2"] ** t) / (1 - s["beta_1"] ** t)
        return s["learning_rate"] * correction * m / (np.sqrt(v) + s["epsilon"])

    def train_epoch(
        self, x, targets, order, batch_size, sample_weight=None, drop_last=False
    ):
        """Train batch after batch; return the mean loss as the batches saw it."""
        if sample_weight is None:
            sample_weight = np.ones(len(x))
        sample_weight = sample_weight.astype(np.float64)
        loss = weight = 0.0
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            if drop_last and len(rows) < batch_size:
                break
            batch = x[rows], targets[rows], sample_weight[rows]
            loss += self.loss(*batch) * sample_weight[rows].sum()
            weight += sample_weight[rows].sum()
            self.step(*batch)
        return loss / weight if weight else 0.0

    def fired(self, x):
        """Per hidden layer, the neurons not at zero for some row, with a way out."""
        heard = np.ones(self.masks[-1].shape[0], bool)
        counts = []
        for i in reversed(range(1, len(self.masks))):
            heard = (self.masks[i][heard] != 0).any(axis=0)
            a = activate(self.sums(x)[i - 1], self.activation)
            counts.append(int((heard & (a != 0).any(axis=0)).sum()))
        return counts[::-1]
