"""to_torch: a fitted model as a module of torch; write_torch: as files."""

import json
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import cofire
from cofire.export.loss import Loss, loss_of
from cofire.export.plain import Classes, Numbers, PlainModel
from cofire.export.reading import plain_model, rows_of
from cofire.persistence.atomic import check_writable, make_folder, write_atomically

_INPUTS = ("kind", "column", "centre", "scale", "low", "width", "level")
_FLAGS = ("absent", "present")


def to_torch(model: Any) -> Any:
    """Return a fitted model as a `torch.nn.Module` that is as sparse as the model.

    Its parameters are the weights of the existing connections, in the order of
    `model.networks_`, and biases. It takes rows as a tensor (n_rows, n_features), as
    `predict` takes them, but a category as the number of its level (`columns` names
    them; -1 for others), and returns probabilities, or numbers for a regressor.
    Gradients reach all parameters: it can be trained further. `scores` returns what
    comes before softmax or sigmoid, of each network.
    """
    _needs("torch", "a module of torch")
    import torch

    from cofire.export.torch.module import SparseModel

    plain = plain_model(model)
    arrays = {name: torch.from_numpy(a.copy()) for name, a in tensors_of(plain).items()}
    return SparseModel(description(plain), arrays)


@dataclass(frozen=True)
class TorchExport:
    """What was written."""

    module: Path
    tensors: Path
    n_connections: int
    n_bytes: int
    loss: Loss | None
    """How far torch is from `predict` on X; None without X."""

    def __str__(self) -> str:
        lines = [
            f"{self.module}: the module, which needs torch and safetensors",
            f"{self.tensors}: {self.n_connections} connections, {self.n_bytes:,} bytes",
            f"from {self.module.stem} import load; model = load({self.tensors.name!r})",
        ]
        return "\n".join(lines + ([] if self.loss is None else [str(self.loss)]))


def write_torch(
    model: Any, path: str | PathLike[str], *, X: Any = None, y: Any = None
) -> TorchExport:
    """Write a fitted model as `path`, a Python module, and its tensors beside it.

    The module is the same for all models: torch code to read and to change, without
    cofire. The tensors are a safetensors file, which cannot run code; torch's own files
    are pickles. X, y: rows, and maybe their targets, on which to compare torch with
    `predict`.
    """
    _needs("safetensors", "files for torch")
    from safetensors.numpy import save

    path = Path(path)
    if path.suffix != ".py" or not path.stem.isidentifier() or iskeyword(path.stem):
        raise ValueError(
            f"{str(path)!r}: expected a name that Python can import, such as net.py."
        )
    plain = plain_model(model)
    tensors, beside = tensors_of(plain), path.with_suffix(".safetensors")
    content = save(tensors, {"cofire": json.dumps(description(plain))})
    loss = None
    if X is not None:
        run = TorchRun(**vars(plain), module=to_torch(model))
        loss = loss_of(plain, run, rows_of(model, X), y)
    check_writable(path)
    check_writable(beside)
    make_folder(path)
    source = Path(__file__).with_name("module.py").read_bytes()
    write_atomically(path, source)
    write_atomically(beside, content)
    return TorchExport(path, beside, plain.n_connections, len(content), loss)


@dataclass(frozen=True, eq=False)
class TorchRun(PlainModel):
    """A plain model whose outputs come from torch, to compare it with others."""

    module: Any = None

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Return what the module gives for rows."""
        import torch

        with torch.no_grad():
            return self.module(torch.from_numpy(rows)).numpy().astype(np.float64)


def description(plain: PlainModel) -> dict[str, Any]:
    """Return all but the arrays as plain values."""
    target, first = plain.target, plain.networks[0]
    return {
        "cofire": cofire.__version__,
        "columns": [
            {"name": own.name, "levels": own.levels and list(own.levels)}
            for own in plain.columns
        ],
        "classes": target.labels.tolist() if isinstance(target, Classes) else None,
        "layers": [len(own.layers) for own in plain.networks],
        "activation": first.activation,
        "output": first.output,
        "bent": plain.inputs.bent,
    }


def tensors_of(plain: PlainModel) -> dict[str, np.ndarray]:
    """Return the arrays by the names that they have in the module's `state_dict`."""
    of, columns = plain.inputs, plain.columns
    found = {f"inputs.{name}": getattr(of, name) for name in (*_INPUTS, *_FLAGS)}
    found["inputs.column"] = of.column.astype(np.int64)
    found["inputs.scale"] = np.where(of.scale == 0, np.inf, of.scale)  # always 0
    found["inputs.width"] = np.where(of.width == 0, 1.0, of.width)
    found["inputs.least"] = np.array([own.least for own in columns], np.float64)
    found["inputs.most"] = np.array([own.most for own in columns], np.float64)
    fill = [np.nan if own.fill is None else own.fill for own in columns]
    found["inputs.fill"] = np.array(fill, np.float64)
    found["inputs.other"] = np.array([own.other for own in columns], np.float64)
    n_levels = [0 if own.levels is None else len(own.levels) for own in columns]
    found["inputs.n_levels"] = np.array(n_levels, np.int64)
    for k, network in enumerate(plain.networks):
        for i, layer in enumerate(network.layers):
            name = f"networks.{k}.{i}"
            kind = np.int32 if layer.nnz < 2**31 else np.int64  # both the same
            found[f"{name}.start"] = layer.indptr.astype(kind)
            found[f"{name}.inputs"] = layer.indices.astype(kind)
            found[f"{name}.weights"] = layer.weights
            found[f"{name}.bias"] = layer.bias
    target = plain.target
    found["mean"] = target.mean if isinstance(target, Numbers) else np.zeros(1)
    found["scale"] = target.scale if isinstance(target, Numbers) else np.ones(1)
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


def _needs(package: str, what: str) -> None:
    try:
        import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{what} needs the package {package}: pip install {package}"
        ) from error
