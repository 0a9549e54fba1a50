"""Damaged model files: a ModelFormatError, quickly, in little memory, and no crash."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cofire import SparseMLPRegressor
from helpers import processes
from helpers.estimator_cases import earlier
from helpers.reliability import figures
from helpers.reliability.file_cases import (
    Good,
    assemble,
    good_files,
    pack,
    unpack,
    with_text,
)

PARTS = 2
MB = 10**6

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc"
)

# Checks that stand behind the checksums: none of them may be left out by the cases.
DEEP_REASONS = (
    "tensor does not follow the one before",
    "tensor does not have as many bytes as its shape",
    "not a cofire a key occurs twice",
    "not a valid cofire layer indptr must start at",
    "not a valid cofire layer indptr must not decrease",
    "not a valid cofire layer indptr must end at the number of indices",
    "not a valid cofire layer indices must lie in",
    "not a valid cofire layer indices must be sorted within each neuron",
    "not a valid cofire layer indices must be unique within each neuron",
    "not a valid cofire layer weights must be finite",
    "not a valid cofire layer weights must be one per connection",
    "not a valid cofire layer bias must be finite",
    "not a valid cofire must not be negative",
    "not a valid cofire unknown tensor",
    "not a valid cofire unknown class",
    "not a valid cofire wrong dtype",
    "not a valid cofire rare wrong codes",
)


def load_damaged(n: int) -> dict:
    """Load n damaged files in processes of their own; what they say, taken together."""
    children = [
        subprocess.Popen(
            processes.program(
                "reliability.watched_loads", "many", n // PARTS, part, PARTS
            ),
            env=processes.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for part in range(PARTS)
    ]
    outputs = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0] * PARTS
    answers = [json.loads(output) for output in outputs]
    return {
        "cases": sum((Counter(a["cases"]) for a in answers), Counter()),
        "reasons": sum((Counter(a["reasons"]) for a in answers), Counter()),
        "loaded": sum(a["loaded"] for a in answers),
        "failures": [told for a in answers for told in a["failures"]],
        "n_failures": sum(a["n_failures"] for a in answers),
        "slowest": max(a["slowest"] for a in answers),
        "memory": max(a["memory"] for a in answers),
        "allowed": min(a["allowed"] for a in answers),
    }


@needs_proc
def test_damaged_files_are_refused():
    found = load_damaged(20_000)
    assert found["failures"] == []
    assert found["memory"] <= found["allowed"]
    assert found["cases"].total() > 19_900
    said = list(found["reasons"])
    unsaid = [r for r in DEEP_REASONS if not any(s.startswith(r) for s in said)]
    assert unsaid == []


@needs_proc
@pytest.mark.slow
def test_a_million_damaged_files_are_refused():
    found = load_damaged(1_000_000)
    n, (seconds, kind) = found["cases"].total(), found["slowest"]
    figures.report(
        "Damaged model files",
        "1,000,000 (all kinds, checksums repaired where the damage is to reach later "
        "checks): only ModelFormatError, each < 100 ms, memory <= 2 x file + 32 MB",
        f"{n:,}: {found['n_failures']} otherwise, {found['loaded']:,} of them right "
        f"files of a sound model; slowest {1000 * seconds:.1f} ms of processor time "
        f"({kind}), {found['memory'] / MB:.1f} MB",
        met=not found["n_failures"]
        and n >= 999_900
        and seconds < 0.1
        and found["memory"] <= found["allowed"],
    )
    assert found["failures"] == []
    assert found["memory"] <= found["allowed"]


# ---- large files --------------------------------------------------------------------


def large_file(folder: Path) -> Good:
    """A model of 50 MB."""
    X = np.random.default_rng(0).standard_normal((64, 3000)).astype(np.float32)
    model = earlier(
        SparseMLPRegressor,
        hidden_layer_sizes=(3000,),
        density=0.35,
        method="static",
        max_iter=1,
        random_state=0,
        n_jobs=1,
    ).fit(X, X[:, 0])
    model.save(folder / "large")
    content = (folder / "large").read_bytes()
    return Good(content, unpack(content))


def damaged_arrays(good: Good):
    """The last number of each array of the first layer changed, checksums repaired."""
    for name, value in [
        *(("network.0.weights", np.nan), ("moments.0.0.weights", np.inf)),
        *(("network.0.indices", 0), ("network.0.indices", 3000)),
        ("network.0.indptr", 2**62),
    ]:
        parts = good.parts
        kept, changed = parts.tensors[name], parts.tensors[name].copy()
        changed[-1] = value
        parts.tensors[name] = changed
        yield f"{name}[-1] = {value}", pack(parts)
        parts.tensors[name] = kept


def large_damaged_files(good: Good):
    """Names and contents: cut, flipped, repaired, lying about sizes."""
    content, end = good.content, good.header_end
    yield "nothing", content
    yield "cut by a byte", content[:-1]
    yield "cut in the middle", content[: len(content) // 2]
    yield "one byte more", content + b"\0"
    yield "twice", content + content[end:]
    yield "a flipped bit", content[:-9] + bytes([content[-9] ^ 4]) + content[-8:]
    yield "a long header", b"\xff\xff\xff\x02" + content[4:]
    yield from damaged_arrays(good)


SHORT = ("[]", "{}", "[0]", '{"":0}', '""', "0.5", '"ab"', '{"$float":"nan"}')


def rich_headers(good: Good, n: int, values=SHORT):
    """Descriptions of about n bytes that would take many times that as values."""
    for value in values:
        many = "[" + ",".join([value] * (n // (len(value) + 1))) + "]"
        yield f"many {value} in the header", assemble(f'{{"a":{many}}}'.encode())
        for place in ("notes", "feature_names", "progress"):
            parts = good.parts.copy()
            parts.document[place] = "?"
            text = with_text_of(parts).replace('"?"', many, 1)
            yield f"many {value} as {place}", repaired(text, parts)
    parts = good.parts.copy()
    parts.document["parameters"]["solver"] = "x" * n
    yield "a long name", pack(parts)
    parts.document["parameters"] = {"\u1234" * (n // 6): 1}
    yield "a long wide name", pack(parts)


def with_text_of(parts) -> str:
    return json.dumps(parts.document, sort_keys=True, separators=(",", ":"))


def repaired(text: str, parts) -> bytes:
    parts.document = json.loads(text)
    return pack(parts)


def costly_values(good: Good):
    """Short descriptions of much memory or much work."""
    wide = {"$array": {"dtype": "<U2000000", "values": ["a"]}}
    parts = good.parts.copy()
    parts.document["progress"]["history"] = [{"loss": wide}] * 1000
    yield "many wide arrays", pack(parts)
    parts = good.parts.copy()
    for name in parts.document["parameters"]:
        parts.document["parameters"][name] = wide
    yield "wide arrays as parameters", pack(parts)
    parts = good.parts.copy()
    sizes = ["a" * 20_000] + [""] * 20_000
    parts.document["parameters"]["hidden_layer_sizes"] = sizes
    yield "sizes as text", pack(parts)
    parts = good.parts.copy()
    pairs = [[k * (2**61 - 1), 0] for k in range(50_000)]
    parts.document["parameters"]["learning_rate"] = {"$pairs": pairs}
    yield "keys of one hash", pack(parts)
    yield "deep", with_text("[" * 200_000, good.parts)
    yield "a long number", with_text("9" * 200_000, good.parts)


def costly_steps(good: Good):
    """The same, of a pipeline."""
    wide = {"$array": {"dtype": "<U2000000", "values": ["a"]}}

    def forged(change):
        parts = good.parts.copy()
        change(parts.document["pipeline"]["steps"]["parameters"]["steps"])
        return pack(parts)

    def rare(steps):
        return steps[0][1]["attributes"]["transformers_"][1][1]["attributes"]

    def many(steps):
        own = rare(steps)
        own |= {"n_features_in_": 1000, "categories_": [wide] * 1000}

    def features(steps):
        own = {"class": "PolynomialFeatures", "parameters": {"degree": 64}}
        own |= {"defaults": {}, "attributes": {"n_features_in_": 2**20}}
        steps.insert(0, ["x", own])

    yield "many wide labels", forged(many)
    yield "wide labels", forged(lambda steps: rare(steps).update(drop_idx_=wide))
    yield "many products", forged(features)


class Watched:
    """A process that loads the files it is given and says what that took."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.child = subprocess.Popen(
            processes.program("reliability.watched_loads", "each"),
            env=processes.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def load(self, content: bytes) -> dict:
        self.path.write_bytes(content)
        self.child.stdin.write(f"{self.path}\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *error) -> None:
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


def watched(cases, folder: Path) -> dict[str, dict]:
    with Watched(folder / "m") as process:
        return {name: process.load(content) for name, content in cases}


def loaded(answers: dict[str, dict]) -> list[str]:
    return [name for name, answer in answers.items() if answer["outcome"] == "loaded"]


def greedy(answers: dict[str, dict]) -> dict[str, dict]:
    """Those that took more memory than allowed."""
    return {n: a for n, a in answers.items() if a["memory"] > a["allowed"]}


@needs_proc
def test_a_large_file_takes_little_memory(tmp_path):
    answers = watched(large_damaged_files(large_file(tmp_path)), tmp_path)
    assert loaded(answers) == ["nothing"]
    assert greedy(answers) == {}
    whole = answers["nothing"]
    size = (whole["allowed"] - 32 * MB) / 2
    assert whole["memory"] < 1.5 * size + 8 * MB


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Good:
    folder = tmp_path_factory.mktemp("small")
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    how = {"hidden_layer_sizes": (4,), "epsilon": 0.5, "max_iter": 1}
    model = earlier(SparseMLPRegressor, **how, random_state=0)
    model.fit(X, X[:, 0]).save(folder / "m")
    content = (folder / "m").read_bytes()
    return Good(content, unpack(content))


@needs_proc
def test_short_files_that_ask_for_much_are_refused(small, tmp_path):
    pipeline = good_files(tmp_path)[-2]
    cases = [*costly_values(small), *costly_steps(pipeline)]
    answers = watched(cases, tmp_path)
    assert loaded(answers) == []
    assert greedy(answers) == {}


@needs_proc
@pytest.mark.parametrize(
    "values", [('{"":0}', '"ab"'), pytest.param(SHORT, marks=pytest.mark.slow)]
)
def test_headers_full_of_values_take_little_memory(values, small, tmp_path):
    answers = watched(rich_headers(small, 3 * MB // 2, values), tmp_path)
    assert all(name.endswith("as notes") for name in loaded(answers))  # any text
    assert greedy(answers) == {}


@needs_proc
@pytest.mark.slow
def test_long_headers_take_no_more_than_the_values_of_a_long_history(small, tmp_path):
    """What is many values in truth, such as names of features, must be held."""
    for name, answer in watched(rich_headers(small, 8 * MB), tmp_path).items():
        size = (answer["allowed"] - 32 * MB) / 2
        assert answer["memory"] < 16 * size, name


@needs_proc
@pytest.mark.slow
def test_memory_and_time_of_large_files(small, tmp_path):
    large = watched(large_damaged_files(large_file(tmp_path)), tmp_path)
    rich = watched(rich_headers(small, 3 * MB // 2), tmp_path)
    costly = watched(costly_values(small), tmp_path)
    answers = large | rich | costly

    def beyond(answer: dict) -> float:
        """Memory beside twice the file."""
        return answer["memory"] - answer["allowed"] + 32 * MB

    whole = large["nothing"]
    worst = max(answers, key=lambda name: beyond(answers[name]))
    figures.report(
        "Memory of loading",
        "2 x file + 32 MB at most",
        f"a file of {(whole['allowed'] / MB - 32) / 2:.0f} MB takes "
        f"{whole['memory'] / MB:.0f} MB and {whole['seconds']:.2f} s; of "
        f"{len(answers)} large or costly files the worst ({worst}) takes twice its "
        f"length and {beyond(answers[worst]) / MB:+.1f} MB",
        met=not greedy(answers),
    )
    assert greedy(answers) == {}
