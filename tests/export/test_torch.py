"""A model as a module of torch: the same outputs, sparse gradients, files of its own.

Without torch these tests are skipped, with CI=true too: pip may install gigabytes of
it. `make test-torch` runs them, in .ci/run too; test_torch_files.py tests the arrays
without torch.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from cofire.export import to_torch, write_torch
from cofire.export.reading import rows_of
from helpers.exported import CASES, case

torch = pytest.importorskip("torch", reason="needs torch: make test-torch")


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_the_estimator_does(name):
    own = case(name)
    module = to_torch(own.model)
    rows = torch.from_numpy(rows_of(own.model, own.X))
    found = module(rows).detach().numpy()
    scale = 1 if hasattr(own.model, "classes_") else np.abs(own.expected)
    assert (np.abs(found - own.expected) <= 1e-5 * scale).all()
    predicted = np.asarray(module.predict(rows)).reshape(len(rows), -1)
    if hasattr(own.model, "classes_"):
        expected = own.model.predict(own.X).reshape(len(rows), -1)
        np.testing.assert_array_equal(predicted, expected)


def test_rows_may_be_float32_and_one():
    own = case("digits")
    module = to_torch(own.model)
    row = torch.from_numpy(own.X[:1].astype(np.float32))
    np.testing.assert_allclose(module(row).detach(), own.expected[:1], atol=1e-5)


def test_gradients_are_those_of_the_existing_connections():
    """They equal those of the dense product, where there is a connection."""
    from cofire.export.torch.module import SparseLinear

    layer = case("digits").model.network_.layers[0]
    arrays = (layer.indptr.astype(np.int32), layer.indices, layer.weights, layer.bias)
    sparse = SparseLinear(*(torch.tensor(own) for own in arrays))
    dense = torch.tensor(layer.to_scipy().toarray(), requires_grad=True)
    x = torch.randn(9, layer.n_in, generator=torch.Generator().manual_seed(0))
    x1, x2 = (x.clone().requires_grad_() for _ in range(2))
    towards = torch.randn(9, layer.n_out, generator=torch.Generator().manual_seed(1))
    (sparse(x1) * towards).sum().backward()
    ((x2 @ dense.T + sparse.bias.detach()) * towards).sum().backward()
    exists = dense.grad[torch.tensor(layer.rows), torch.tensor(layer.indices)]
    torch.testing.assert_close(sparse.weights.grad, exists, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(x1.grad, x2.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(sparse.bias.grad, towards.sum(0), rtol=1e-4, atol=1e-4)


def test_it_can_be_trained_further_and_keeps_its_connections():
    own = case("several networks")
    module, y = to_torch(own.model), torch.tensor(own.model.predict(own.X))
    n_weights = sum(p.numel() for n, p in module.named_parameters() if "weights" in n)
    assert n_weights == own.model.n_connections_
    rows = torch.from_numpy(own.X)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    losses = []
    for _ in range(5):
        loss = torch.stack(
            [torch.nn.functional.cross_entropy(s, y) for s in module.scores(rows)]
        ).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.97 * losses[0]
    expected = own.model.networks_[0].layers[0].weights
    assert not np.array_equal(module.networks[0][0].weights.detach(), expected)
    assert (own.expected == own.model.predict_proba(own.X)).all()  # ours is its own


def test_the_files_work_without_cofire(tmp_path):
    own = case("missing values")
    written = write_torch(own.model, tmp_path / "net.py", X=own.X)
    assert written.loss.n_other == 0 and written.loss.difference < 1e-5
    np.save(tmp_path / "rows.npy", own.X)
    program = (
        "import sys, numpy as np, torch\n"
        "sys.modules['cofire'] = None\n"
        "from net import load, save\n"
        "model = load('net.safetensors')\n"
        "save(model, 'again.safetensors')\n"
        "model = load('again.safetensors')\n"
        "rows = torch.from_numpy(np.load('rows.npy'))\n"
        "np.save('found.npy', model(rows).detach().numpy())\n"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, check=True
    )
    found = np.load(tmp_path / "found.npy")
    np.testing.assert_allclose(found, own.expected, atol=1e-5)


def test_state_dict_and_pickle_keep_all_of_it():
    own = case("two numbers")
    module, other = to_torch(own.model), to_torch(own.model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(module.state_dict())
    rows = torch.from_numpy(own.X)
    assert torch.equal(other(rows), module(rows))
    assert torch.equal(pickle.loads(pickle.dumps(module))(rows), module(rows))


def test_torch_export_takes_it():
    own = case("missing values")
    module, rows = to_torch(own.model), torch.from_numpy(own.X)
    any_number = {0: torch.export.Dim("n_rows")}
    program = torch.export.export(module, (rows[:9],), dynamic_shapes=(any_number,))
    torch.testing.assert_close(program.module()(rows), module(rows))
