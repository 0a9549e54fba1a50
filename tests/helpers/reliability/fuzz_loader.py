"""Coverage-guided fuzzing of `cofire.load` with Atheris (libFuzzer).

    python -m helpers.reliability.fuzz_loader 1000000     so many executions

Byte by byte a fuzzer never gets past a checksum. This one mutates the parts of a file
(its description, its arrays, its list of tensors) and packs them again, checksums and
header repaired; libFuzzer keeps what reaches new lines of the loader and of the checks
behind it. A finding is any error but ModelFormatError, or a loaded model whose arrays
a second opinion calls broken. `make fuzz` makes the environment.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline

from helpers.reliability import figures

# What the fuzzer watches: the way of a file from its bytes to an estimator.
WATCHED = ["saving", "errors", "methods", "estimators.parameters", "training.cost"]
WATCHED += [f"persistence.{name}" for name in ("model_file", "progress", "values")]
WATCHED += [f"pipelines.{n}" for n in ("checks", "contents", "kinds", "parameters")]
WATCHED += ["pipelines.pipeline", "pipelines.transformers", "estimators.restoring"]
WATCHED += ["core.layer", "core.network", "core.optimizers", "engine.augmentation"]
try:
    import atheris

    watching = atheris.instrument_imports(include=[f"cofire.{n}" for n in WATCHED])
except ImportError:  # pytest looks for examples here too
    watching = nullcontext()
with watching:
    from cofire.errors import ModelFormatError
    from cofire.saving import load
    from helpers import processes
    from helpers.reliability import file_cases
    from helpers.reliability.file_cases import (
        Good,
        Parts,
        is_sound,
        pack,
        predicts,
        unpack,
        with_text,
    )
    from helpers.reliability.file_damages import DAMAGES, flip_in_an_array

GOAL = 1_000_000
MAX_LENGTH = 1 << 16
FINDINGS = figures.ROOT / "build" / "fuzz"  # files that something is wrong with


def fuzz(runs: int, corpus: Path) -> None:
    """Run the fuzzer in this process, which it ends."""
    path = corpus.parent / "m"
    seeds = [file.read_bytes() for file in sorted(corpus.iterdir())]

    def execute(data: bytes) -> None:
        path.write_bytes(data)
        try:
            model = load(path)
        except ModelFormatError:
            return
        if not is_sound(unpack(data)):
            raise AssertionError("loaded with broken arrays")
        try:
            right = predicts(model, _rows(model))
        except ValueError as error:  # weights may be huge, and still be weights
            if "outputs are not finite" not in str(error):
                raise
            return
        if not right:
            raise AssertionError("does not predict")

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        draw = random.Random(seed)
        try:
            good = Good(data, unpack(data))
        except (ValueError, TypeError, LookupError, AttributeError):
            seed_data = draw.choice(seeds)
            good = Good(seed_data, unpack(seed_data))
        try:
            mutated = _mutated(good, draw, atheris.Mutate)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            mutated = atheris.Mutate(data, max_size)
        return mutated[:max_size]

    arguments = [f"-runs={runs}", f"-max_len={MAX_LENGTH}", "-timeout=60"]
    arguments += ["-rss_limit_mb=2048", "-len_control=0", "-print_final_stats=1"]
    arguments.append(f"-artifact_prefix={FINDINGS}/")
    atheris.Setup(
        [sys.argv[0], *arguments, str(corpus)], execute, custom_mutator=mutate
    )
    atheris.Fuzz()


def _rows(model):
    """Two rows that a model may be asked for: numbers, or texts for words."""
    if isinstance(model, Pipeline):
        return file_cases.TEXTS if len(model.steps) < 3 else file_cases.PROBE
    return np.ones((2, model.n_features_in_), np.float32)


def _mutated(good: Good, draw: random.Random, mutate) -> bytes:
    """One step: the bytes, a damage of `file_damages`, or a part packed again."""
    way = draw.randrange(6)
    if way == 0:
        return mutate(good.content, MAX_LENGTH)
    if way <= 2:
        return draw.choice(list(DAMAGES))(good, draw)
    if way == 3:
        return flip_in_an_array(good, draw)[0]
    if way == 4:
        parts = good.parts.copy()
        name = draw.choice(sorted(parts.tensors))
        array = parts.tensors[name]
        raw = mutate(array.tobytes() or b"\0" * 8, 4096)
        raw = raw[: len(raw) // array.itemsize * array.itemsize]
        parts.tensors[name] = np.frombuffer(raw, array.dtype)
        return pack(parts)
    text = mutate(good.text.encode(), MAX_LENGTH // 2).decode("latin-1")
    try:
        return pack(Parts(json.loads(text), good.parts.tensors))
    except ValueError:
        return with_text(text, good.parts)


def _start(runs: int, log: Path, good_files: list[Good]) -> subprocess.Popen:
    """Begin a fuzzer with a corpus of its own, beside the file of what it says."""
    corpus = log.parent / "corpus"
    corpus.mkdir(parents=True)
    for i, good in enumerate(good_files):
        (corpus / str(i)).write_bytes(good.content)
    with log.open("w") as file:
        return subprocess.Popen(
            processes.program("reliability.fuzz_loader", runs, corpus),
            env=processes.environment(),
            stderr=file,
        )


def main(runs: int) -> int:
    """Fuzz in one child per core, and report how many executions there were."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    known = set(FINDINGS.iterdir())
    n = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        good_files = file_cases.good_files(Path(folder))
        logs = [Path(folder, f"{k}", "log") for k in range(n)]
        children = [_start(-(-runs // n), log, good_files) for log in logs]
        statuses = [child.wait() for child in children]
        told = [log.read_text(errors="replace") for log in logs]
        kept = sum(len(list((log.parent / "corpus").iterdir())) for log in logs)
    sys.stderr.write("".join(text[-2000:] for text in told))
    findings = set(FINDINGS.iterdir()) - known
    counted = re.findall(r"number_of_executed_units:\s*(\d+)", "".join(told))
    executed = sum(map(int, counted))
    figures.report(
        "Fuzzing the loader (Atheris, coverage-guided)",
        f">= {GOAL:,} executions, 0 findings",
        f"{executed:,} executions, {len(findings)} findings, "
        f"{kept} files kept for what they reached",
        met=not findings and executed >= GOAL,
    )
    for path in sorted(findings):
        sys.stderr.write(f"{path}: cofire.load fails\n")
    return max(statuses, key=abs)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        fuzz(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else GOAL))
