"""Train every model on every table of one half; write one row per fit to a CSV file.

    python benchmarks/tables/run.py --half choosing --out choosing.csv
    python benchmarks/tables/run.py --half proving --reason "release 0.2" --out p.csv

Stop it when you like: the same command continues, rows of FILE are not run twice. Each
fit has a process of its own, with one thread, a limit of memory and one of time. The
lightest tables come first, and of each table all models on one fold before the next.
The proving half is for proof: each run of it is written down in proving-runs.csv.
"""

import argparse
import csv
import difflib
import importlib
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import wait
from pathlib import Path

import fold
from fold import MEASURES, Job
from models import MODELS, ON_A_GPU, PACKAGES

HERE = Path(__file__).parent
PROVING_LOG = HERE.parents[1] / "docs" / "results" / "tables" / "proving-runs.csv"
LOADING_SECONDS = 900  # to read a table, before the cap counts
PATIENCE = 4  # a fit may wait for others on a busy machine: so many caps by the clock
COLUMNS = (
    *("table", "task", "half", "rows", "features", "model", "repeat", "fold", "change"),
    *("status", *MEASURES),
    *("cofire", "commit", "date", "machine"),
)
SLOW, FAILED, NOT_HERE = "too slow", "failed", "not available"
NO_TABLE = "no table"


# --- the file ------------------------------------------------------------------------


def read_rows(path):
    """Return the rows of a file by job; of several rows of one job the last counts."""
    rows = {}
    if Path(path).exists():
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row.get("machine") is None:
                    continue  # a line that an interrupt cut short
                rows[key_of(row)] = row
    return rows


def key_of(row):
    number = int(row["repeat"]), int(row["fold"])
    return row["table"], row["model"], *number, row["change"]


class ResultFile:
    """Rows are appended and flushed one by one: an interrupt loses none."""

    def __init__(self, path):
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_bytes() if path.exists() else b""
        self.file = open(path, "a", newline="", encoding="utf-8")  # noqa: SIM115
        if old and not old.endswith(b"\n"):
            self.file.write("\r\n")
        self.writer = csv.DictWriter(self.file, COLUMNS)
        if not old:
            self.writer.writeheader()

    def add(self, row):
        shown = {
            name: f"{value:.6g}" if isinstance(value, float) else value
            for name, value in row.items()
        }
        self.writer.writerow(shown)
        self.file.flush()

    def close(self):
        self.file.close()


# --- the processes -------------------------------------------------------------------


@dataclass
class Running:
    job: Job
    process: multiprocessing.Process
    pipe: object
    deadline: float


def context(packages):
    """Children are copies of a process that has imported the packages already."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ["PYTHONWARNINGS"] = "ignore"
    # That process looks for modules where PYTHONPATH says, not where we do.
    there = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(there)
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["numpy", "scipy.sparse", "pandas", "fold", *packages])
    return found


def run_jobs(jobs, done, *, n_jobs=1, cap=300.0, memory=8 * 2**30):
    """Run jobs, each in its own process, and call done(job, row) with each result.

    A model that needs more than `cap` seconds of a processor on one fold (or PATIENCE
    times as many by the clock) is not tried on the table's other folds, one that is not
    available not at all: their rows say so.
    """
    waiting, running = list(jobs), []
    packages = {name for job in waiting for name in PACKAGES.get(job.model, ())}
    processes = context(sorted(packages))
    given_up = {}  # a model, a table or a place: the status
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                job = waiting.pop(0)
                places = (job.model, job.table, _place(job.key))
                known = next((given_up[p] for p in places if p in given_up), None)
                if known:
                    done(job, {"status": known})
                else:
                    running.append(_start(processes, job, cap, memory))
            if not running:
                continue
            wait([each.pipe for each in running], timeout=0.5)
            for each in list(running):
                row = _result(each, cap)
                if row is None:
                    continue
                running.remove(each)
                if row["status"] == SLOW:
                    given_up[_place(each.job.key)] = SLOW
                elif row["status"].startswith(NO_TABLE):
                    given_up[each.job.table] = row["status"]
                elif row["status"].startswith(NOT_HERE):
                    given_up[each.job.model] = row["status"]
                done(each.job, row)
    finally:
        for each in running:
            _end(each)


def _start(processes, job, cap, memory):
    ours, theirs = processes.Pipe(duplex=False)
    if "device" in job.settings:  # CUDA reserves more addresses than there is memory
        memory = 0
    process = processes.Process(target=fold.child, args=(job, memory, cap, theirs))
    process.start()
    theirs.close()
    now = time.monotonic()
    return Running(job, process, ours, now + LOADING_SECONDS)


def _result(each, cap):
    """Return the row of a process that ended or has to; None while it runs."""
    try:
        while each.pipe.poll():
            message = each.pipe.recv()
            if message == "ready":
                each.deadline = time.monotonic() + PATIENCE * cap
            else:
                _end(each, patience=10)
                return message
    except EOFError:
        each.process.join()
        each.pipe.close()
        code = each.process.exitcode
        if code == -signal.SIGXCPU:
            return {"status": SLOW, "cpu_seconds": float(cap)}
        return {"status": f"failed: the process ended with code {code}"}
    if time.monotonic() < each.deadline:
        return None
    _end(each)
    return {"status": SLOW, "fit_seconds": PATIENCE * float(cap)}


def _end(each, patience=0.0):
    if patience:
        each.process.join(patience)
    if each.process.is_alive():
        each.process.kill()
    each.process.join()
    each.pipe.close()


# --- how long it will take -----------------------------------------------------------


class Clock:
    """Guesses the time left from what the same model took on what it has done."""

    def __init__(self, jobs, cells, args):
        self.left = {job.key: job for job in jobs}
        self.all, self.cells = len(jobs), cells
        self.n_jobs, self.cap = args.jobs, args.cap
        self.of_pair, self.of_model = {}, {}

    def done(self, job, seconds):
        self.left.pop(job.key, None)
        for table, name in (
            (self.of_pair, (job.table, job.model)),
            (self.of_model, job.model),
        ):
            total, count, cells = table.get(name, (0.0, 0, 0))
            table[name] = total + seconds, count + 1, cells + self.cells[job.table]

    def guess(self, job):
        if (job.table, job.model) in self.of_pair:
            total, count, _ = self.of_pair[job.table, job.model]
            return total / count
        known = self.of_model.get(job.model)
        if known is None:
            sums = self.of_model.values()
            known = [sum(part) for part in zip(*sums, strict=True)] or [0.0, 1, 1]
        return min(known[0] / known[2] * self.cells[job.table], self.cap)

    def line(self):
        seconds = sum(self.guess(job) for job in self.left.values()) / self.n_jobs
        done = self.all - len(self.left)
        return f"{done} of {self.all} fits, about {time_words(seconds)} left"


def time_words(seconds):
    """Write seconds for people.

    >>> time_words(7500), time_words(90), time_words(12)
    ('2 h 5 min', '2 min', '12 s')
    """
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# --- what a row says beside the scores -----------------------------------------------


def provenance():
    """Version and commit of cofire, and the machine, in words."""
    from cofire import __version__

    return {"cofire": __version__, "commit": commit(), "machine": machine_words()}


def commit():
    """The short commit, with "+" when the library's sources differ from it."""

    def git(*arguments):
        asked = ["git", "-C", HERE, *arguments]
        return subprocess.run(asked, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", ":/src", ":/CMakeLists.txt")
    return (git("rev-parse", "--short", "HEAD") or "none") + ("+" if changed else "")


def machine_words():
    from cofire.core.machine import available_cores, physical_memory

    sys.path.insert(0, str(HERE.parent))
    try:
        from harness import processor
    finally:
        sys.path.pop(0)
    memory = physical_memory() / 2**30
    return (
        f"{processor()}, {available_cores()} cores, {memory:.0f} GiB, "
        f"Python {platform.python_version()}"
    )


def unknown(kind, name, known):
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return SystemExit(f"unknown {kind} {name}.{hint} Known: {', '.join(known)}.")


def chosen_tables(tables, half, asked):
    """Return the tables of a half, the lightest first.

    tables: name -> Table. asked: names, or None for all of them.
    """
    for name in asked or ():
        if name not in tables:
            raise unknown("table", name, sorted(tables))
        if tables[name].half != half:
            raise SystemExit(
                f"--tables: {name} is in the {tables[name].half} half, not in the "
                f"{half} half. Leave it out or change --half."
            )
    names = [n for n in tables if tables[n].half == half and (not asked or n in asked)]
    return sorted(names, key=lambda name: cells_of(tables[name]))


def cells_of(table):
    return max(int(table.rows or 1), 1) * max(int(table.features or 1), 1)


def must_run(row, again, now):
    """Whether a job whose last row is `row` runs again.

    again: "failed", "slow", or names of models: their rows of another commit.
    """
    if row is None:
        return True
    status = row["status"]
    if "failed" in again and status.startswith((FAILED, NOT_HERE)):
        return True
    if "slow" in again and status == SLOW:
        return True
    return row["model"] in again and row["commit"] != now


def write_down(path, entry):
    """Append a run of the proving half to the log, unless the same run is in it."""
    path = Path(path)
    old = []
    if path.exists():
        with open(path, newline="", encoding="utf-8") as file:
            old = list(csv.DictReader(file))
    same = [name for name in entry if name != "date"]
    if any(all(row[name] == entry[name] for name in same) for row in old):
        return  # it was interrupted and continues
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(entry))
        if not old:
            writer.writeheader()
        writer.writerow(entry)


# --- the command ---------------------------------------------------------------------


def parser():
    about, _, more = __doc__.partition("\n")
    found = argparse.ArgumentParser(
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found.add_argument
    add("--half", required=True, choices=("choosing", "proving"))
    add("--tables", nargs="+", metavar="NAME", help="all of the half")
    add("--models", nargs="+", default=list(MODELS), metavar="NAME", help="all")
    add("--folds", type=int, default=5)
    add("--repeats", type=int, default=2)
    add("--jobs", type=int, default=1, help="fits at the same time")
    add("--cap", type=float, default=300.0, help="seconds of a processor per fit")
    add("--memory", type=float, default=8.0, help="GiB that one fit may use")
    add(
        "--gpu",
        metavar="WORDS",
        help=f"run {' and '.join(ON_A_GPU)} with CUDA, without a limit of memory; "
        "WORDS name the GPU in their rows",
    )
    add("--out", required=True, type=Path, metavar="FILE.csv")
    add("--reason", help="why the proving half is run; needed there")
    add(
        "--again",
        nargs="+",
        default=[],
        metavar="WHAT",
        help="run again: failed, slow, or a model's rows of other commits",
    )
    add("--catalogue", default="catalogue", help="a module with TABLES and load(name)")
    return found


def make_jobs(args, tables, names):
    return [
        Job(
            *(table, model, repeat, number, args.folds),
            settings={"device": "cuda"} if args.gpu and model in ON_A_GPU else {},
            catalogue=args.catalogue,
        )
        for table in names
        for repeat in range(args.repeats)
        for number in range(args.folds)
        for model in args.models
    ]


def main(arguments=None):
    args = parser().parse_args(arguments)
    for name in args.models:
        if name not in MODELS:
            raise unknown("model", name, list(MODELS))
    for name in args.again:
        if name not in ("failed", "slow", *MODELS):
            raise unknown("value of --again", name, ["failed", "slow", *MODELS])
    if args.half == "proving" and not args.reason:
        raise SystemExit(
            "--reason: the proving half is for proof, and each run of it is written "
            "down. Say why it is run."
        )
    tables = importlib.import_module(args.catalogue).TABLES
    names = chosen_tables(tables, args.half, args.tables)
    facts = provenance()
    rows = read_rows(args.out)
    every = make_jobs(args, tables, names)
    jobs = [
        job for job in every if must_run(rows.get(job.key), args.again, facts["commit"])
    ]
    print(f"{len(names)} tables, {len(args.models)} models: {len(jobs)} fits to run")
    if jobs and args.half == "proving":
        entry = {
            "date": today(),
            "commit": facts["commit"],
            "models": " ".join(args.models),
            "tables": " ".join(args.tables or ["all"]),
            "reason": args.reason,
        }
        write_down(PROVING_LOG, entry)
    finished = run_into_file(jobs, tables, args.out, args, rows, facts)
    return 0 if finished else 130


def run_into_file(jobs, tables, out, args, rows=None, facts=None):
    """Run jobs and append their rows to a file; return False if interrupted.

    args: jobs, cap, memory. Without `rows`, what the file has already is not run.
    """
    facts = facts or provenance()
    if rows is None:
        rows = read_rows(out)
        jobs = [job for job in jobs if job.key not in rows]
    again = getattr(args, "again", ())
    # Rows of an earlier run count here too: what was too slow then is not tried now.
    slow = {_place(key) for key, row in rows.items() if row["status"] == SLOW}
    slow = set() if "slow" in again else slow
    file = ResultFile(out)
    clock = Clock(jobs, {n: cells_of(t) for n, t in tables.items()}, args)

    missing = {}

    def done(job, row):
        if row["status"].startswith(NO_TABLE):  # no row: it is run next time
            missing[job.table] = row["status"]
            return clock.done(job, 0.0)
        table = tables[job.table]
        of_table = {"task": table.task, "half": table.half}
        size = {"rows": table.rows, "features": table.features}
        names = ("table", "model", "repeat", "fold", "change")
        which = dict(zip(names, job.key, strict=True)) | {"date": today()}
        place = {}
        if "device" in job.settings:
            place = {"machine": f"{args.gpu} and {facts['machine']}"}
        file.add(facts | place | of_table | size | which | row)
        took = row.get("fit_seconds") or row.get("cpu_seconds") or 0.0
        clock.done(job, took)
        where = f"{job.table} {job.model} {job.repeat}.{job.fold} {job.key[-1]}".strip()
        what = f"{row['score']:.4f}" if row["status"] == "ok" else row["status"]
        print(f"{clock.line()}: {where} {what}", flush=True)

    try:
        for job in [job for job in jobs if _place(job.key) in slow]:
            done(job, {"status": SLOW})
        left = [job for job in jobs if _place(job.key) not in slow]
        memory = int(args.memory * 2**30)
        run_jobs(left, done, n_jobs=args.jobs, cap=args.cap, memory=memory)
    except KeyboardInterrupt:
        print("interrupted; the same command continues")
        return False
    finally:
        file.close()
    if missing:
        raise SystemExit("\n".join(f"{name}: {why}" for name, why in missing.items()))
    return True


def _place(key):
    """What "too slow" is said of: a table, a model and a change."""
    return key[0], key[1], key[-1]


def today():
    return datetime.now().isoformat(timespec="seconds")


if __name__ == "__main__":
    sys.exit(main())
