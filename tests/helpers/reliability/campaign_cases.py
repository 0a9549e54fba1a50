"""`cofire reproduce` in a session of its own, ended by signals, and what it leaves."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import cofire
from cofire.lab.experiments import Store

SOURCE = str(Path(cofire.__file__).parents[1])
# Some shells turn Ctrl-C off for what they start in the background.
CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from cofire import cli
app = cli.app
def begin(arguments):
    sys.stderr.write("started\\n")
    app(arguments)
cli.app = begin
cli.main()
"""
PATIENCE = 120.0  # seconds until something that does not end is given up
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "COFIRE_DATA"}


def session_members(leader):
    """The processes of a session, by what the system tells of all processes."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == leader:
            found.append(int(stat.parent.name))
    return found


class Campaign:
    """A folder of results; `start` works on it until it is done or ended."""

    def __init__(self, out, n_epochs=12):
        self.out, self.n_epochs = out, n_epochs

    def start(self):
        """Return the process, once the command has begun."""
        arguments = [*("reproduce", "table2", "--quick", "--datasets", "madelon")]
        arguments += ["--epochs", str(self.n_epochs), "--jobs", "2"]
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, *arguments, "--out", str(self.out)],
            env=ENVIRONMENT | {"PYTHONPATH": SOURCE},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stderr.readline() == "started\n"
        return process

    def finish(self):
        process = self.start()
        complaint = process.communicate(timeout=10 * PATIENCE)[1]
        assert process.returncode == 0, complaint

    def end(self, wait, number, *, group, again=None):
        """Send a signal, perhaps another; check what is left; return the seconds."""
        before = self.results()
        process = self.start()
        time.sleep(wait)
        send = os.killpg if group else os.kill
        begun = time.perf_counter()
        if process.poll() is None:
            send(process.pid, number)
        if again is not None:
            time.sleep(again)
            if process.poll() is None:
                os.kill(process.pid, number)
        complaint = process.communicate(timeout=PATIENCE)[1]
        seconds = time.perf_counter() - begun
        self.check(process, complaint, before)
        return seconds

    def check(self, process, complaint, before):
        finished = process.returncode == 0  # it was quicker
        assert finished or process.returncode == 130, complaint
        assert "Traceback" not in complaint and "rror" not in complaint, complaint
        assert finished or complaint.endswith("cofire: interrupted\n"), complaint
        end = time.monotonic() + PATIENCE
        while session_members(process.pid):  # loky's tracker is the last to go
            assert time.monotonic() < end, session_members(process.pid)
            time.sleep(0.02)
        after = self.results()
        assert before.items() <= after.items()
        if not (self.out / "runs.sqlite").exists():
            return
        database = sqlite3.connect(self.out / "runs.sqlite", timeout=0)
        try:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            found = database.execute("SELECT status FROM runs").fetchall()
            left = set() if finished else {("waiting",)}
            assert set(found) <= {("done",), *left}, found
            database.execute("BEGIN EXCLUSIVE")  # nobody holds it any more
            database.execute("ROLLBACK")
        finally:
            database.close()

    def results(self):
        """What the finished runs brought, but for the seconds they took."""
        if not (self.out / "runs.sqlite").exists():
            return {}
        with Store(self.out / "runs.sqlite") as store:
            return {
                result.run: (
                    result.score,
                    *(
                        (name, curve.tobytes())
                        for name, curve in sorted(result.curves.items())
                        if not name.endswith("seconds")
                    ),
                )
                for result in store.results()
            }
