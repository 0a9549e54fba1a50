"""Hostile files: loading runs nothing that is in them and opens nothing else."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cofire
from helpers import processes
from helpers.reliability import figures
from helpers.reliability.file_cases import good_files
from helpers.reliability.hostile_cases import contents, strange_paths

# All that a load may cause; a good one causes the same. (`compile`, `exec`, `import`,
# `os.*`, `socket.*`, `subprocess.*`, `pickle.find_class`, `ctypes.*` ... are others.)
HARMLESS = {"open", "builtins.id", "object.__getattr__"}
N_CASES = 200


def audit(paths: list[str]) -> list[dict]:
    child = subprocess.run(
        processes.program("reliability.audited_loads"),
        env=processes.environment(),
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    return json.loads(child.stdout)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Names and paths of all cases with what was seen, and the mark nobody may set."""
    folder = tmp_path_factory.mktemp("hostile")
    mark = folder / "mark"
    good, *_, pipeline, _ = good_files(folder)
    (folder / "cases").mkdir()
    cases = []
    for i, (name, content) in enumerate(contents(good, pipeline, mark)):
        path = folder / "cases" / str(i)
        path.write_bytes(content)
        cases.append((name, str(path)))
    (folder / "paths").mkdir()
    cases += strange_paths(folder / "paths", good)
    (folder / "good").write_bytes(good.content)
    (folder / "pipeline").write_bytes(pipeline.content)
    # What a class of errors imports when it is raised first is no doing of the file.
    known = [str(folder / "pipeline"), str(folder / "good"), cases[0][1]]
    answers = audit([*known, *(path for _, path in cases)])
    for path, answer in zip(known[:-1], answers, strict=False):
        assert answer["outcome"] == "loaded" and set(answer["events"]) <= HARMLESS
        assert answer["opened"] == [path]
    answers = answers[len(known) :]
    seen = [(*case, answer) for case, answer in zip(cases, answers, strict=True)]
    return seen, mark


def offences(seen: list) -> dict[str, dict]:
    return {
        name: answer
        for name, path, answer in seen
        if answer["outcome"] == "loaded"
        or not set(answer["events"]) <= HARMLESS
        or not set(answer["opened"]) <= {path}
    }


def test_nothing_in_a_file_is_run_and_nothing_else_is_opened(audited):
    seen, mark = audited
    assert offences(seen) == {}
    assert not mark.exists()
    assert len(seen) >= N_CASES
    refused = [answer for _, path, answer in seen if "/cases/" in path]
    assert {answer["outcome"] for answer in refused} == {"ModelFormatError"}


@pytest.mark.slow
def test_report_hostile_files(audited):
    seen, mark = audited
    bad = offences(seen)
    figures.report(
        "Hostile files and paths",
        f"{N_CASES}: an audit hook sees no code run, no import, no process, no socket, "
        "no second file",
        f"{len(seen)}: {len(bad)} got through",
        met=not bad and not mark.exists() and len(seen) >= N_CASES,
    )
    assert bad == {}


def test_the_audit_sees_what_a_pickle_does(tmp_path):
    """The hook itself works: the same child sees an import, were there one."""
    code = "import sys; sys.addaudithook(lambda e, a: print(e)); import antigravity_"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "import" in seen.stdout.split()


# ---- the source ---------------------------------------------------------------------

SOURCE = Path(cofire.__file__).parent
# Calls that run what they read, by the end of their names.
DANGEROUS = {
    *("eval", "exec", "compile", "__import__", "read_pickle", "Unpickler"),
    *("pickle.load", "pickle.loads", "marshal.load", "marshal.loads"),
    *("joblib.load", "torch.load", "yaml.load", "os.system", "os.popen"),
}
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "code"}
# Messages between a command and the workers that it was told to use, which Dask, loky
# and submitit pickle anyway. A file of them is read if its checksum came with the task.
MESSAGES = {
    "lab/workers/attempt.py": {"pickle", "pickle.loads"},
    "tuning/elsewhere.py": {"pickle", "cloudpickle", "pickle.loads"},
}


def dangers(tree: ast.AST) -> list[str]:
    """Calls and imports in a module that may run what a file contains."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            root = node.module.split(".")[0]
            found += [n for n in names if root in MODULES or n in DANGEROUS]
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in DANGEROUS or name.endswith((".read_pickle", ".Unpickler")):
                found.append(name)
            pickled = [k for k in node.keywords if k.arg == "allow_pickle"]
            if any(ast.unparse(k.value) != "False" for k in pickled):
                found.append(f"{name}(allow_pickle=...)")
            if name in ("np.load", "numpy.load") and len(node.args) > 2:
                found.append(f"{name} with allow_pickle by its place")
    return found


def test_the_package_has_no_call_that_runs_what_it_reads():
    modules = sorted(SOURCE.rglob("*.py"))
    assert len(modules) > 50
    found = {
        module.relative_to(SOURCE).as_posix(): set(
            dangers(ast.parse(module.read_text()))
        )
        for module in modules
    }
    assert {module: names for module, names in found.items() if names} == MESSAGES


@pytest.mark.parametrize(
    "code",
    [
        *("eval('1')", "exec(x)", "import pickle", "from pickle import loads"),
        *("import shelve", "joblib.load(p)", "from joblib import load"),
        *(
            "np.load(p, allow_pickle=True)",
            "np.load(p, None, True)",
            "marshal.loads(x)",
        ),
        *("pd.read_pickle(p)", "np.load(p, allow_pickle=flag)", "compile(x, y, z)"),
    ],
)
def test_the_search_finds_each_of_them(code):
    assert dangers(ast.parse(code)) != []
    harmless = "re.compile(x); np.load(p); np.load(p, allow_pickle=False); json.load(f)"
    assert dangers(ast.parse(harmless)) == []
