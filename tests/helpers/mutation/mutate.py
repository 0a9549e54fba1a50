"""Would the tests notice a mistake? Make small ones, and count those they find.

    make mutate                        all of topology/ and methods/
    make mutate ARGS="rewire.py"       the mutants whose name contains one of these

Each mutant (see mutants.py) lives in a fork of its own, changed in memory, and meets
the tests that execute the changed line, until one fails or they have had their time: a
mutant that only a slow test would find counts as one that survived. Hypothesis draws
the same examples each time, so that a run can be repeated. Mutants that behave as the
original does stand in equivalent_mutants.txt, each with the reason, and do not count;
an entry whose code has changed since is reported.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes: threads do not fork

import importlib.util
import json
import resource
import signal
import sys
import tempfile
import time
import types
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import coverage
import hypothesis.extra.numpy  # this and what follows: imported once, for all forks
import hypothesis.stateful  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.utils.estimator_checks  # noqa: F401

from helpers.mutation.mutants import Mutant, equivalents, mutants_of
from helpers.reliability import figures

TESTS = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
PACKAGES = ("topology", "methods")
FILES = ("topology", "methods", "test_profiles.py")
GOAL = 0.85
TEST_TIME = 8  # seconds: the slowest tests, if they come later, are left out
MEMORY = 6 * 2**30  # a mutant that asks for a full huge layer gets an error instead

HUNG, KILLED, SURVIVED, BROKEN = 1, 2, 3, 4  # exit codes of a fork
RESULTS = {HUNG: "hung", KILLED: "killed", SURVIVED: "survived"}
SCREEN = os.fdopen(os.dup(2), "w", buffering=1)  # also in forks, whose own is closed


# ---- tests in forks ------------------------------------------------------------------


def in_a_fork(work, limit: float = 3600) -> int:
    """Run work() in a silent child; its exit code, HUNG if it took too long."""
    child = os.fork()
    if child == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        code = BROKEN
        try:
            code = work()
        except BaseException as error:
            SCREEN.write(f"a fork broke off: {error!r}\n")
        os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGPROF:
                return HUNG
            return KILLED if code < 0 else code  # a crash is noticed too
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


class Instead:
    """pytest plugin: do this with the collected tests instead of running them."""

    def __init__(self, work) -> None:
        self.work, self.result = work, None

    def pytest_runtestloop(self, session):
        if session.testsfailed:  # a test file could not be imported
            self.result = KILLED
        else:
            self.result = self.work(session.items)
        return True


def with_tests(work):
    """What work(tests) returns; KILLED where the tests cannot be collected."""
    plugin = Instead(work)
    options = "-q --capture=no -p no:cacheprovider --timeout=0".split()
    options += ["--hypothesis-profile=mutate"]
    options += ["-m", "not slow", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    files = [str(TESTS / name) for name in FILES]
    code = pytest.main([f"--rootdir={TESTS.parent}", *options, *files], [plugin])
    if plugin.result is None and code == pytest.ExitCode.INTERRUPTED:
        return KILLED
    return plugin.result


def passes(test, next_test=None) -> bool:
    failed = test.session.testsfailed
    test.ihook.pytest_runtest_protocol(item=test, nextitem=next_test)
    return test.session.testsfailed == failed


def first_run(tests, folder: Path, kept: Path) -> int:
    """Keep the seconds of each test, and the tests of each line of a file."""
    only = {"data_file": None, "config_file": False, "include": f"{folder}/*"}
    tracer = coverage.Coverage(**only)
    tracer.start()
    seconds = {}
    for test in tests:
        start = time.process_time()  # whatever else runs here
        tracer.switch_context(test.nodeid)
        if not passes(test):
            SCREEN.write(f"{test.nodeid} fails before anything was changed\n")
            return BROKEN
        seconds[test.nodeid] = time.process_time() - start
    tracer.stop()
    data = tracer.get_data()
    ran = {
        str(Path(name).relative_to(folder)): data.contexts_by_lineno(name)
        for name in data.measured_files()
    }
    kept.write_text(json.dumps({"seconds": seconds, "ran": ran}))
    return 0


def concerned(mutant: Mutant, tests, first: dict) -> list:
    """The tests that may see a mutant, as far as the time goes.

    First those of the test file that mirrors the module; of each kind fast ones first.
    """
    seconds, ran = first["seconds"], first["ran"].get(mutant.file, {})
    if mutant.lines:
        names = {name for line in mutant.lines for name in ran.get(str(line), ())}
    else:  # outside of functions: any test may see it
        names = set(seconds)
    # A test that was not there before is one that the mutant brings.
    chosen = [t for t in tests if t.nodeid in names or t.nodeid not in seconds]
    mirror = f"test_{Path(mutant.file).stem}.py"
    chosen.sort(key=lambda t: (t.path.name != mirror, seconds.get(t.nodeid, 0)))
    left = TEST_TIME
    for k, test in enumerate(chosen):
        left -= seconds.get(test.nodeid, 0)
        if left < 0 and k > 0:
            return chosen[:k]
    return chosen


def verdict(tests, first: dict) -> int:
    """KILLED or SURVIVED; a test that takes ten times as long as before ends it all."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for test in tests:
        # Of processor time, so that a busy machine kills no mutants.
        limit = 5 + 10 * first["seconds"].get(test.nodeid, 0)
        signal.setitimer(signal.ITIMER_PROF, limit)
        if not passes(test):
            return KILLED
    return SURVIVED


# ---- mutants in memory ---------------------------------------------------------------


def functions_of(namespace: dict, module: str) -> dict[str, types.FunctionType]:
    """The functions of a module by their qualified names, those of classes too."""
    found = {}
    for value in namespace.values():
        value = getattr(value, "fget", None) or getattr(value, "func", value)
        if getattr(value, "__module__", None) != module:
            continue
        if isinstance(value, types.FunctionType):
            found[value.__qualname__] = value
        elif isinstance(value, type):
            found |= functions_of(vars(value), module)
    return found


def patch(mutant: Mutant) -> None:
    """Let the functions of an imported module do what the mutant's do."""
    module = sys.modules[mutant.module]
    namespace = {"__name__": module.__name__, "__file__": module.__file__}
    exec(mutant.code, namespace)
    changed = functions_of(namespace, mutant.module)
    for name, function in functions_of(vars(module), mutant.module).items():
        function.__code__ = changed[name].__code__
        function.__defaults__ = changed[name].__defaults__
        function.__kwdefaults__ = changed[name].__kwdefaults__


class Replace:
    """Let Python import a mutant where the original was meant."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name != self.mutant.module:
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = Loader(name, spec.origin)
        spec.loader.code = self.mutant.code
        return spec


class Loader(SourceFileLoader):
    def get_code(self, name):
        return self.code


def try_in_functions(mutants: list[Mutant], folder: Path, kept: Path) -> int:
    """Try mutants that can be made after cofire was imported: quickly."""

    def work(tests):
        if in_a_fork(lambda: first_run(tests, folder, kept)) != 0:
            return BROKEN
        first = json.loads(kept.read_text())
        results = {}
        for mutant in mutants:
            chosen = concerned(mutant, tests, first)
            if not mutant.lines:
                continue

            def meet(mutant=mutant, chosen=chosen):
                try:
                    patch(mutant)
                except ValueError:  # another closure: this one has to be imported
                    return BROKEN
                return verdict(chosen, first)

            results[str(mutant)] = in_a_fork(meet)
            if results[str(mutant)] == SURVIVED:
                SCREEN.write(f"{mutant}\n")
        kept.write_text(json.dumps(first | {"results": results}))
        return 0

    return with_tests(work)


def try_imported(mutant: Mutant, first: dict) -> int:
    """Try a mutant that must be there when cofire is imported: a second or two."""

    def work():
        sys.meta_path.insert(0, Replace(mutant))
        return with_tests(lambda t: verdict(concerned(mutant, t, first), first))

    return in_a_fork(work)


# ---- all of them ---------------------------------------------------------------------


def source() -> Path:
    """The folder of cofire's modules, which are imported in forks only."""
    return Path(importlib.util.find_spec("cofire").origin).parent


def all_mutants(folder: Path) -> list[Mutant]:
    return [
        mutant
        for package in PACKAGES
        for path in sorted((folder / package).rglob("*.py"))
        for mutant in mutants_of(path, str(path.relative_to(folder)))
    ]


def try_all(mutants: list[Mutant]) -> dict[str, int]:
    """What became of each mutant."""
    with tempfile.TemporaryDirectory() as here:
        kept = Path(here) / "first.json"
        if in_a_fork(lambda: try_in_functions(mutants, source(), kept), 10**5) != 0:
            sys.exit("The tests must pass before mutants can be tried: make test")
        first = json.loads(kept.read_text())
    results = first["results"]
    for mutant in mutants:
        if results.get(str(mutant), BROKEN) == BROKEN:
            results[str(mutant)] = try_imported(mutant, first)
            if results[str(mutant)] == BROKEN:
                sys.exit(f"pytest did not run: {mutant}")
            if results[str(mutant)] == SURVIVED:
                SCREEN.write(f"{mutant}\n")
    return results


def main(patterns: list[str]) -> int:
    hypothesis.settings.register_profile(
        "mutate",
        derandomize=True,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    every = all_mutants(source())
    mutants = [
        mutant
        for mutant in every
        if not patterns or any(pattern in str(mutant) for pattern in patterns)
    ]
    known = equivalents(EQUIVALENT.read_text(encoding="utf-8"))
    gone = sorted(known.keys() - set(map(str, every)))
    for name in gone:
        SCREEN.write(f"called equivalent, but the code has changed: {name}\n")
    if gone:
        SCREEN.write(f"Correct or remove these entries of {EQUIVALENT.name}.\n")
    start = time.monotonic()
    SCREEN.write(f"{len(mutants)} mutants. These survive, known ones included:\n")
    results = try_all(mutants)
    wrong = [m for m in known if results.get(m, SURVIVED) != SURVIVED]
    counts = dict.fromkeys((*RESULTS.values(), "equivalent"), 0)
    for name, code in results.items():
        counts["equivalent" if name in known else RESULTS[code]] += 1
    found = counts["killed"] + counts["hung"]
    n = len(mutants) - counts["equivalent"]
    SCREEN.write(f"\n{(time.monotonic() - start) / 60:.0f} minutes: {counts}\n")
    for name in results:
        if results[name] == SURVIVED and name not in known:
            SCREEN.write(f"survived: {name}\n")
    for name in wrong:
        SCREEN.write(f"called equivalent, but a test found it: {name}\n")
    if not patterns:
        figures.report(
            "mutants of topology/ and methods/ that the tests find",
            f">= {GOAL:.0%}",
            f"{found / n:.1%}: {found} of {n}; {counts['equivalent']} more change "
            "nothing that could be seen",
            met=found >= GOAL * n and not wrong and not gone,
        )
    return found < GOAL * n or bool(wrong) or bool(gone)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
