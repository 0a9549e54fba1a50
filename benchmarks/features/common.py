"""What the scripts share: a CSV file that continues, and a cap of CPU time."""

import csv
import multiprocessing
import os
import resource
import subprocess
import time
from datetime import date
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

DONE, SLOW = "done", "not finished"


def commit():
    """The last commit of the library's sources, with "+" when they differ from it."""

    def git(*arguments):
        asked = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", ":/src")
    last = git("log", "-1", "--format=%h", "--", ":/src")
    return (last or "none") + ("+" if changed else "")


class ResultFile:
    """Rows are appended and flushed one by one; `key` says which are the same job."""

    def __init__(self, path, columns, key):
        self.path, self.columns, self.key = Path(path), columns, key
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.done = {self._key(row) for row in read(self.path)}
        self.commit = commit()

    def _key(self, row):
        return tuple(str(row[name]) for name in self.key)

    def __contains__(self, row):
        return self._key(row) in self.done

    def add(self, row):
        row = {**row, "commit": self.commit, "date": date.today().isoformat()}
        shown = {
            name: f"{value:.6g}" if isinstance(value, float) else value
            for name, value in row.items()
        }
        new = not self.path.exists()
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(shown)
        self.done.add(self._key(row))


def read(path):
    """Rows of a file; a line that an interrupt cut short is left out."""
    if not Path(path).exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row.get("date")]


def limited(function, *arguments, cap):
    """Call a function in a process of its own: (status, result, its CPU seconds).

    Status: "done", "not finished" after `cap` CPU seconds, or "failed: ...".
    """
    processes = multiprocessing.get_context("fork")
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_child, args=(theirs, cap, function, arguments))
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        answer = None
    process.join()
    if answer is not None:
        return answer
    if process.exitcode == -24:  # SIGXCPU
        return SLOW, None, float(cap)
    return f"failed: the process ended with code {process.exitcode}", None, 0.0


def _child(pipe, cap, function, arguments):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cap), int(cap) + 5))
    start = time.process_time()
    try:
        status, result = DONE, function(*arguments)
    except Exception as error:
        status, result = f"failed: {type(error).__name__}: {error}"[:300], None
    pipe.send((status, result, time.process_time() - start))
