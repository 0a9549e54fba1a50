"""A sparse layer in torch: `embedding_bag` beside CSR tensors, index_add and dense.

Microseconds of processor time on one thread, forward alone and forward with gradients
of weights and inputs; ways take turns in one process. Prints a table and writes
docs/results/export-torch.md (`--quick` prints only).
"""

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from cofire.export.torch.module import SparseLinear
from harness import machine
from onnx_forms import network

RESULTS = Path(__file__).parent.parent / "docs" / "results"
LAYERS = {
    "1000 x 1000, 0.2 %": (1000, 1000, 2000),
    "1000 x 1000, 2.6 %": (1000, 1000, 26_000),
    "500 x 500, 5 %": (500, 500, 12_500),
    "300 x 200, 2.5 %": (300, 200, 1500),
}
N_ROWS = (1, 100, 1000)


def ways(layer):
    """Each way: a function of rows, and its parameters."""
    start, inputs = torch.tensor(layer.indptr), torch.tensor(layer.indices).long()
    of, bias = torch.tensor(layer.rows), torch.tensor(layer.bias)
    shape = layer.n_out, layer.n_in
    ours = SparseLinear(start, inputs, torch.tensor(layer.weights), bias)
    weights = torch.tensor(layer.weights, requires_grad=True)
    matrix = torch.tensor(layer.to_scipy().toarray(), requires_grad=True)

    def csr(x):
        sparse = torch.sparse_csr_tensor(start, inputs, weights, shape)
        return torch.sparse.mm(sparse, x.T).T + bias

    def index_add(x):
        products = x.T[inputs] * weights[:, None]
        empty = torch.zeros(layer.n_out, len(x))
        return empty.index_add(0, of, products).T + bias

    return {
        "embedding_bag (ours)": (ours, ours.weights),
        "CSR tensor": (csr, weights),
        "gather and index_add": (index_add, weights),
        "dense, zeros multiplied": (
            lambda x: functional.linear(x, matrix, bias),
            matrix,
        ),
    }


def window(call, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        begin = time.thread_time()
        call()
        times.append(time.thread_time() - begin)
    return 1e6 * statistics.median(times)


def calls(run, parameter, n_rows, n_in):
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(n_rows, n_in)))
    x = x.float().requires_grad_()

    def forward():
        with torch.no_grad():
            run(x)

    def both():
        x.grad = parameter.grad = None
        run(x).sum().backward()

    return forward, both


def measure(rounds, seconds):
    """{layer: {way: {rows: (forward, both)}}}."""
    found = {}
    for name, (n_in, n_out, count) in LAYERS.items():
        of = ways(network((n_in, n_out), (count,)).layers[0])
        found[name] = {way: {} for way in of}
        for n in N_ROWS:
            made = {way: calls(*own, n, n_in) for way, own in of.items()}
            times = {way: ([], []) for way in made}
            for _ in range(rounds):
                for way, pair in made.items():
                    for own, call in zip(times[way], pair, strict=True):
                        own.append(window(call, seconds))
            for way, pair in times.items():
                found[name][way][n] = tuple(statistics.median(own) for own in pair)
    return found


def page(found, where, settings):
    heads = " | ".join(f"{n:,} row" + "s" * (n > 1) for n in N_ROWS)
    lines = [
        "# A sparse layer in torch",
        "",
        "<!-- written by benchmarks/bench_export_torch.py -->",
        "",
        "Microseconds on one thread: forward / forward and gradients.",
    ]
    for name, ways_ in found.items():
        lines += ["", f"| {name} | {heads} |", "|---|" + "---:|" * len(N_ROWS)]
        for way, times in ways_.items():
            cells = [f"{a:,.0f} / {b:,.0f}" for a, b in times.values()]
            lines.append(f"| {way} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"{where['processor']}, {where['system']}, Python {where['python']}; "
        f"{', '.join(where['packages'])}; commit {where['commit']}, {where['date']}. "
        f"{settings['rounds']} rounds, windows of {settings['seconds']:g} s, processor "
        "time of the thread.",
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="print only, few rounds")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")  # torch's, that CSR tensors are in beta
    torch.set_num_threads(1)
    settings = {"rounds": 2 if quick else 5, "seconds": 0.03}
    text = page(measure(**settings), machine(("cofire", "torch", "numpy")), settings)
    print(text)
    if not quick:
        (RESULTS / "export-torch.md").write_text(text)


if __name__ == "__main__":
    main()
