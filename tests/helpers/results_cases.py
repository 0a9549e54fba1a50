"""Runs that look like real ones, made without training."""

import dataclasses

import numpy as np

from cofire.lab.experiments import Result, Run, grid
from cofire.lab.table import MeanSpread, Table

SIZES = {"madelon": (500, 2), "mnist": (784, 10), "cifar10": (3072, 10)}
REACH = {"ctre_sim": 0.95, "ctre_seq": 0.93, "set": 0.85, "rigl": 0.88, "snip": 0.8}
MACHINE = {
    "host": "somewhere",
    "platform": "Linux x86_64",
    "python": "3.11.7",
    "numpy": "2.1.0",
    "simd_level": "x86_64_v4",
    "cores": 2,
    "threads": 1,
}


def campaign(
    data=("madelon", "mnist"),
    methods=("ctre_sim", "ctre_seq", "set", "rigl", "snip", "dense"),
    hidden=(100, 1000),
    epsilon=(1,),
    seeds=15,
    epochs=500,
):
    """A result for each run of a grid."""
    runs = grid(
        data=data,
        methods=methods,
        hidden=hidden,
        epsilon=epsilon,
        seeds=range(seeds),
        epochs=epochs,
    )
    return [result(run, i) for i, run in enumerate(runs)]


def result(run: Run, number: int = 0) -> Result:
    """Curves that rise to what the method can reach, with noise."""
    rng = np.random.default_rng(number)
    n_in, n_out = SIZES.get(run.data, (30, 3))
    sizes = [n_in, run.hidden, run.hidden, run.hidden, n_out]
    places = sum(a * b for a, b in zip(sizes, sizes[1:], strict=False))
    wanted = (
        sum(run.epsilon * (a + b) for a, b in zip(sizes, sizes[1:], strict=False))
        if run.epsilon
        else places
    )
    connections = int(min(places, wanted))
    epoch = np.arange(run.epochs)
    reach = (
        REACH.get(run.method, 0.75) - 0.04 * (run.hidden > 500) + 0.01 * rng.normal()
    )
    rise = 1 - np.exp(-epoch / (12 + 60 * (run.method == "set")))
    truth = 1 / n_out + (reach - 1 / n_out) * rise
    test = np.clip(truth + 0.006 * rng.normal(size=run.epochs), 0, 1)
    validation = np.clip(truth + 0.012 * rng.normal(size=run.epochs), 0, 1)
    best = int(np.argmax(validation.astype(np.float32)))
    seconds = connections * 3e-8 * (1 + 0.2 * rng.random(run.epochs))
    rewire = seconds * (0 if run.method in ("dense", "snip") else 0.8)
    curves = {
        "loss": -np.log(truth),
        "validation_score": validation,
        "validation_loss": -np.log(truth),
        "test_score": test,
        "test_loss": -np.log(test) * (1 + epoch / 900),
        "train_seconds": seconds,
        "rewire_seconds": rewire,
        "evaluate_seconds": seconds / 10,
        "multiply_adds": np.full(run.epochs, 3 * 1800 * connections),
        "inputs": inputs(run, n_in, connections, rng),
    }
    total = float(seconds.sum())
    return Result(
        score=float(np.float32(test[best])),
        validation_score=float(np.float32(validation[best])),
        best_epoch=best + 1,
        connections=connections,
        density=connections / places,
        seconds=1.1 * total + float(rewire.sum()),
        curves={name: np.asarray(c, np.float32) for name, c in curves.items()},
        receipt={
            "connections": connections,
            "dense_connections": places,
            "bytes": 8 * connections + 9 * run.hidden,
            "dense_bytes": 4 * places,
            "multiply_adds": connections,
            "dense_multiply_adds": places,
            "epochs": run.epochs,
            "train_seconds": total,
            "rewire_seconds": float(rewire.sum()),
            "evaluate_seconds": total / 10,
        },
        notes={"sizes": sizes, "recall": None},
        run=run,
        id=number,
        cofire="0.1.0",
        machine=MACHINE,
        finished="2026-03-01 12:00:00",
    )


def inputs(run, n_in, connections, rng):
    """Spread evenly, or, by methods that search, drawn to some of the inputs."""
    pull = np.ones(n_in)
    if "ctre" in run.method and run.data in ("mnist", "cifar10"):
        side, channels = (28, 1) if run.data == "mnist" else (32, 3)
        row, column = np.mgrid[:side, :side] - side / 2 + 0.5
        pull = np.repeat(np.exp(-(row**2 + 1.6 * column**2) / 60).ravel(), channels)
    elif "ctre" in run.method:
        pull[rng.permutation(20) * 7 % n_in] = 40
    return rng.multinomial(connections // 3, pull / pull.sum())


def tables():
    """The paper's values beside ours, one cell missing."""
    rows = [
        ["CTRE_sim", 100, MeanSpread(78.8, 1.2), MeanSpread(82.4, 0.9), 3.6, "0.012"],
        ["CTRE_seq", 1000, MeanSpread(61.1, 1.9), None, None, "-"],
        ["SET", 1000, MeanSpread(9.5, 0.4), MeanSpread(55.0, 2.6), -1.5, "0.4"],
        ["RigL", 20_000, None, MeanSpread(100.0, 0.0), 0.25, "<0.001"],
    ]
    columns = ["method", "n", "paper", "ours", "difference", "p"]
    caption = "Test accuracy in % on Madelon, mean ± standard deviation."
    first = Table("main", "Table 2: Madelon", columns, rows, caption, bold={(0, 3)})
    return [first, Table("ablation", "Table 4: ablations", columns, rows[:2])]


def own_run(folder="/a", method="set", seed=0, epochs=5, sha256="351ba6" * 10, **file):
    """A run of a file of the user, split by the seed."""
    return Run.of(
        data=f"{folder}/my.csv",
        method=method,
        hidden=9,
        epsilon=1,
        seed=seed,
        profile="default",
        epochs=epochs,
        split=seed,
        options={"file": {"header": True, "sha256": sha256, **file}},
    )


def of_score(run, score, **notes):
    """Its result, with this score and these notes."""
    return dataclasses.replace(result(run), score=score, notes=notes)


def beside_baselines(seeds=2):
    """Two networks of the default recipe, and two models of scikit-learn."""
    found = []
    for seed in range(seeds):
        for method, score in (("cofire", 0.8), ("dense", 0.7)):
            drawn = result(own_run(method=method, seed=seed))
            own = {
                "run": dataclasses.replace(drawn.run, epsilon=None, epochs=0),
                "score": score,
                "notes": drawn.notes | {"networks": 4},
            }
            found.append(dataclasses.replace(drawn, **own))
        for method, score in (("random_forest", 0.9), ("gradient_boosting", 0.6)):
            run = own_run(method=method, seed=seed)
            own = {"connections": 0, "density": 0.0, "best_epoch": 0, "curves": {}}
            own |= {"receipt": {}, "notes": {"task": "classification"}}
            found.append(dataclasses.replace(found[0], run=run, score=score, **own))
    return found
