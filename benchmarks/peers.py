"""The contestants: one small class each, all with prepare(task) and train(rows).

`prepare` builds the network and the data; `train` runs SGD with momentum 0.9 over the
given row numbers in batches, gathering included, and is what the clock sees.
"""

import numpy as np

from data import batches

LEARNING_RATE, MOMENTUM = 0.01, 0.9


class Cofire:
    """This library: one native call is one epoch. All its calls are in this class."""

    whole_epochs = True

    def prepare(self, task):
        from cofire import engine
        from cofire.core.optimizers import SGD
        from cofire.topology.create import create_network
        from cofire.topology.density import connections_per_layer

        X, self.labels = task.samples()
        sizes = list(task.sizes)
        counts = connections_per_layer(sizes, task.epsilon)
        if list(counts) != task.connections():
            raise RuntimeError(f"connections differ: {counts}, {task.connections()}")
        self.network = create_network(
            sizes, counts, init="normal", activation="relu", output="softmax", seed=0
        )
        self.optimizer = SGD(
            learning_rate=LEARNING_RATE, momentum=MOMENTUM, nesterov=True, alpha=1e-4
        )
        self.optimizer.start(self.network)
        self.rows, self.task, self.engine = engine.Rows(X), task, engine

    def train(self, rows):
        self.engine.train_epoch(
            self.network,
            self.optimizer,
            self.rows,
            self.labels,
            order=rows,
            batch_size=self.task.batch,
            n_threads=self.task.threads,
        )


def start_torch(peer, task):
    """Give a torch peer its threads, seed, rows and loss."""
    import torch

    torch.set_num_threads(task.threads)
    torch.manual_seed(0)
    X, labels = task.samples()
    peer.X, peer.labels = torch.from_numpy(X), torch.from_numpy(labels).long()
    peer.loss = torch.nn.CrossEntropyLoss()
    peer.torch, peer.task = torch, task


class TorchModule:
    """What the torch peers share that train an nn.Module with autograd."""

    whole_epochs = False

    def prepare(self, task):
        start_torch(self, task)
        self.model = self.build(task)
        self.optimizer = self.torch.optim.SGD(
            self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM, fused=True
        )

    def build(self, task):
        """The hidden layers with ReLU between them, and the output layer."""
        import torch

        modules = []
        for layer in self.layers(task):
            modules += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*modules[:-1])

    def train(self, rows):
        for batch in batches(self.torch.from_numpy(rows), self.task.batch):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(self.model(self.X[batch]), self.labels[batch]).backward()
            self.optimizer.step()


class TorchDense(TorchModule):
    """nn.Linear as it is."""

    def layers(self, task):
        from torch import nn

        for n_in, n_out in zip(task.sizes[:-1], task.sizes[1:], strict=True):
            yield nn.Linear(n_in, n_out)


class TorchMasked(TorchModule):
    """nn.Linear with its weight multiplied by a binary mask in the forward pass."""

    def layers(self, task):
        import torch

        class MaskedLinear(torch.nn.Linear):
            def forward(self, x):
                return torch.nn.functional.linear(x, self.weight * self.mask, self.bias)

        shapes = zip(task.sizes[:-1], task.sizes[1:], task.topology(), strict=True)
        for n_in, n_out, (row, column) in shapes:
            layer = MaskedLinear(n_in, n_out)
            mask = torch.zeros(n_out, n_in)
            mask[row, column] = 1
            layer.register_buffer("mask", mask)
            yield layer


class Sparselab(TorchModule):
    """sparselab.SparseLinear in a Sequential, as its README trains it.

    Its layer draws a mask of about the asked density; the connections are replaced by
    the exact ones, and without spare places (padding), which a fixed topology never
    fills.
    """

    def layers(self, task):
        import sparselab
        import torch

        shapes = zip(task.sizes[:-1], task.sizes[1:], task.topology(), strict=True)
        for n_in, n_out, (row, column) in shapes:
            density = len(row) / (n_in * n_out)
            layer = sparselab.SparseLinear(n_in, n_out, sparsity=1 - density)
            values = torch.randn(len(row)) / max(1.0, density * n_in) ** 0.5
            layer._csr = sparselab.PaddedCSR.from_torch_sparse_csr(
                csr_tensor(row, column, values, (n_out, n_in)), padding_ratio=0.0
            )
            layer._values = torch.nn.Parameter(torch.from_numpy(layer._csr.values))
            yield layer


def csr_tensor(row, column, values, shape):
    """A torch CSR tensor around `values`, with the int32 indices that MKL wants."""
    import torch

    row_starts = np.searchsorted(row, np.arange(shape[0] + 1))
    return torch.sparse_csr_tensor(
        torch.from_numpy(row_starts.astype(np.int32)),
        torch.from_numpy(np.asarray(column).astype(np.int32)),
        values,
        shape,
    )


class TorchCSR:
    """torch sparse CSR layers through autograd, with SGD on their values by hand.

    torch.optim refuses CSR parameters, so momentum and step are written out. The
    product is the reducing one, the faster of the two that autograd knows.
    """

    whole_epochs = False

    def prepare(self, task):
        import torch

        start_torch(self, task)
        self.weights, self.biases = [], []
        shapes = zip(task.sizes[:-1], task.sizes[1:], task.topology(), strict=True)
        for n_in, n_out, (row, column) in shapes:
            values = torch.randn(len(row)) * (n_out / len(row)) ** 0.5
            weight = csr_tensor(row, column, values, (n_out, n_in))
            self.weights.append(weight.requires_grad_())
            self.biases.append(torch.zeros(n_out, 1, requires_grad=True))
        moving = [w.values() for w in self.weights] + self.biases
        self.velocities = [torch.zeros_like(values) for values in moving]

    def train(self, rows):
        for batch in batches(self.torch.from_numpy(rows), self.task.batch):
            self.loss(self.forward(batch).t(), self.labels[batch]).backward()
            with self.torch.no_grad():
                self.step()

    def forward(self, batch):
        outputs = self.X[batch].t().contiguous()  # feature-major: CSR times dense
        for weight, bias in zip(self.weights, self.biases, strict=True):
            outputs = self.torch.sparse.mm(weight, outputs, "sum") + bias
            if bias is not self.biases[-1]:
                outputs = outputs.relu_()
        return outputs

    def step(self):
        moving = [(w.values(), w.grad.values()) for w in self.weights]
        moving += [(bias, bias.grad) for bias in self.biases]
        for (values, gradient), velocity in zip(moving, self.velocities, strict=True):
            velocity.mul_(MOMENTUM).add_(gradient)
            values.add_(velocity, alpha=-LEARNING_RATE)
        for parameter in self.weights + self.biases:
            parameter.grad = None


class TorchCSRByHand:
    """torch sparse CSR layers with forward, backward and SGD all written by hand.

    All values, biases and gradients lie in one flat array each: the update is three
    calls, and one gather brings the transposed weights up to date. dW comes from
    sampled_addmm, only at existing connections; the first layer computes no dX.
    """

    whole_epochs = False

    def prepare(self, task):
        import torch

        start_torch(self, task)
        shapes = list(zip(task.sizes[:-1], task.sizes[1:], strict=True))
        ends = np.cumsum([*task.connections(), *task.sizes[1:]])
        parts = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self.parameters, self.gradients, self.velocity = torch.zeros(3, ends[-1])
        self.transposed = torch.zeros(sum(task.connections()))

        self.layers, sources = [], []
        for i, (row, column) in enumerate(task.topology()):
            (n_in, n_out), place, bias = shapes[i], parts[i], parts[len(shapes) + i]
            order = np.lexsort((row, column))
            sources.append(order + place.start)
            values, flipped = self.parameters[place], self.transposed[place]
            values.normal_(std=(n_out / len(row)) ** 0.5)
            self.layers.append(
                (
                    csr_tensor(row, column, values, (n_out, n_in)),
                    csr_tensor(column[order], row[order], flipped, (n_in, n_out)),
                    csr_tensor(row, column, self.gradients[place], (n_out, n_in)),
                    self.parameters[bias, None],
                    self.gradients[bias],
                )
            )
        self.sources = torch.from_numpy(np.concatenate(sources))

    def train(self, rows):
        with self.torch.no_grad():
            for batch in batches(self.torch.from_numpy(rows), self.task.batch):
                self.step(batch)

    def step(self, batch):
        torch = self.torch
        inputs, outputs = [], self.X[batch].t().contiguous()
        for i, (weight, _, _, bias, _) in enumerate(self.layers):
            inputs.append(outputs)
            outputs = torch.sparse.mm(weight, outputs, "sum").add_(bias)
            if i < len(self.layers) - 1:
                outputs.relu_()

        delta = torch.softmax(outputs, dim=0)
        delta[self.labels[batch], torch.arange(len(batch))] -= 1
        delta /= len(batch)
        torch.index_select(self.parameters, 0, self.sources, out=self.transposed)
        for i in reversed(range(len(self.layers))):
            _, transposed, gradient, _, bias_gradient = self.layers[i]
            torch.sparse.sampled_addmm(
                gradient, delta, inputs[i].t(), beta=0.0, out=gradient
            )
            torch.sum(delta, dim=1, out=bias_gradient)
            if i > 0:
                delta = torch.sparse.mm(transposed, delta, "sum")
                delta = torch.ops.aten.threshold_backward(delta, inputs[i], 0)

        self.velocity.mul_(MOMENTUM).add_(self.gradients)
        self.parameters.add_(self.velocity, alpha=-LEARNING_RATE)


class ScikitLearn:
    """MLPClassifier, solver "sgd": partial_fit is one pass over the rows it gets."""

    whole_epochs = False

    def prepare(self, task):
        from sklearn.neural_network import MLPClassifier

        self.X, self.labels = task.samples()
        self.model = MLPClassifier(
            task.sizes[1:-1],
            solver="sgd",
            batch_size=task.batch,
            learning_rate_init=LEARNING_RATE,
            momentum=MOMENTUM,
            random_state=0,
        )
        self.classes = np.arange(task.sizes[-1])

    def train(self, rows):
        self.model.partial_fit(self.X[rows], self.labels[rows], classes=self.classes)


class Sgemm:
    """The machine's limit: NumPy's float32 product. A "row" of the task is one."""

    whole_epochs = False

    def prepare(self, task):
        rng = np.random.default_rng(0)
        m, k, n = task.sizes
        self.a = rng.standard_normal((m, k), dtype=np.float32)
        self.b = rng.standard_normal((k, n), dtype=np.float32)
        self.out = np.empty((m, n), dtype=np.float32)

    def train(self, rows):
        for _ in rows:
            np.matmul(self.a, self.b, out=self.out)


CONTESTANTS = {
    "cofire": Cofire,
    "torch dense": TorchDense,
    "torch masked-dense": TorchMasked,
    "torch CSR": TorchCSR,
    "torch CSR by hand": TorchCSRByHand,
    "sparselab": Sparselab,
    "scikit-learn": ScikitLearn,
    "sgemm": Sgemm,
}
