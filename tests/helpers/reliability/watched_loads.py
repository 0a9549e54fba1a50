"""Load files in a process of its own, and watch what that takes.

    python -m helpers.reliability.watched_loads many N PART PARTS
    python -m helpers.reliability.watched_loads each

`many` loads N damaged files, `each` the files whose paths come in lines.

Answers are lines of JSON. Memory is the highest resident size since the loading began,
less what was there before; a limit on the address space makes larger allocations fail,
touched or not.
"""

import gc
import json
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from cofire.errors import ModelFormatError
from cofire.saving import load
from helpers.reliability import file_cases
from helpers.reliability.file_damages import damaged_files

MB = 10**6
SPARE = 32 * MB  # what loading may take beside twice the file


def memory(name: str) -> int:
    """A figure of /proc/self/status in bytes: VmRSS, VmHWM (its peak), VmSize."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise LookupError(name)


def forget_the_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def allow(n_bytes: int) -> None:
    """Let the address space grow by so much, and no more."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + n_bytes, hard))


def scratch_folder() -> tempfile.TemporaryDirectory:
    in_memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None)


def many(n: int, part: int, parts: int) -> dict:
    with scratch_folder() as folder:
        path = Path(folder) / "m"
        files = file_cases.good_files(Path(folder))[part::parts]
        for good in files:
            path.write_bytes(good.content)
            file_cases.verdict(path, file_cases.LOADED, good)
        largest = max(len(good.content) for good in files)
        gc.freeze()  # a sweep through all that is imported is not the loader's time
        allow(2 * largest + SPARE)
        before, reasons, loaded = memory("VmRSS"), Counter(), 0
        forget_the_peak()
        failures, slowest, cases = [], (0.0, ""), Counter()
        for kind, i, content, expected in damaged_files(files, n, part):
            path.write_bytes(content)
            start = time.thread_time()
            try:
                reason = file_cases.verdict(path, expected, files[i])
            except BaseException:
                told = traceback.format_exc(limit=-3)
                failures.append(f"{kind}, file {i}, expected {expected}: {told}")
                reason = "failed"
            slowest = max(slowest, (time.thread_time() - start, kind))
            cases[kind] += 1
            loaded += not reason
            for remedy in (" The file was damaged", " Name a file"):
                reason = reason.partition(remedy)[0]
            words = (word.rstrip(".") for word in reason.split())
            reasons[" ".join(word for word in words if word.isalpha())] += 1
        return {
            "cases": cases,
            "loaded": loaded,
            "reasons": reasons,
            "failures": failures[:5],
            "n_failures": len(failures),
            "slowest": slowest,
            "memory": memory("VmHWM") - before,
            "allowed": 2 * largest + SPARE,
        }


def each(path: Path) -> dict:
    size = path.stat().st_size
    forget_the_peak()
    before = memory("VmRSS")
    start = time.thread_time()
    try:
        load(path)
        outcome = "loaded"
    except ModelFormatError as error:
        outcome = str(error).removeprefix(f"{path}: ")
    return {
        "outcome": outcome,
        "seconds": time.thread_time() - start,
        "memory": memory("VmHWM") - before,
        "allowed": 2 * size + SPARE,
    }


def say(answer: dict) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "many":
        say(many(*map(int, sys.argv[2:])))
    else:
        with scratch_folder() as folder:  # what the first load imports is not counted
            path = Path(folder) / "m"
            for good in file_cases.good_files(Path(folder)):
                path.write_bytes(good.content)
                load(path)
        for line in sys.stdin:
            say(each(Path(line.rstrip("\n"))))
