"""The run store: one SQLite file with every run, its curves, and what it needed.

A run is waiting, running, done or failed. Several processes may share the file: each
claims a run before starting it, and a claim counts while its owner gives signs of life.
The outcome of a run is written in one transaction: a process that is killed loses only
the runs in progress.
"""

import json
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from cofire.lab.experiments import migrations
from cofire.lab.experiments.grid import Run
from cofire.lab.experiments.results import COLUMNS, Outcome, Result
from cofire.persistence.values import canonical

SILENCE = 90.0  # seconds without a sign of life after which a claim is void

RUN_FIELDS = tuple(f.name for f in fields(Run))


class StoreError(Exception):
    """The file is not a run store, or not one that this version can use."""


class Store:
    """The runs of a file; the file is created if it does not exist.

    >>> import tempfile
    >>> from cofire.lab.experiments.grid import Run
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(Path(folder.name) / "runs.sqlite")
    >>> store.add([Run("madelon", "set", 100, 1.0, seed) for seed in range(3)])
    >>> store.counts()
    {'waiting': 3, 'running': 0, 'done': 0, 'failed': 0}
    >>> store.close(); folder.cleanup()
    """

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        self.path = Path(path)
        self.owner = f"{socket.gethostname()}:{os.getpid()}"
        if not create and not self.path.exists():
            raise FileNotFoundError(
                f"there are no runs yet: {self.path} does not exist. `cofire compare` "
                "and `cofire reproduce` make runs; or name the folder that has them."
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()  # signs of life come from another thread
        try:
            self._db = sqlite3.connect(
                self.path, timeout=60, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path} cannot be opened: {error}. Name another folder, or check "
                "who may read and write it."
            ) from None
        self._db.row_factory = sqlite3.Row
        try:
            self._open()
        except BaseException as error:
            self._db.close()
            if isinstance(error, sqlite3.OperationalError):
                raise StoreError(
                    f"{self.path} cannot be used: {error}. Try again when no other "
                    "process uses it, or name another folder."
                ) from None
            if isinstance(error, sqlite3.DatabaseError):
                raise StoreError(
                    f"{self.path} is not a run store: {error}. Move it away, or name "
                    "another folder."
                ) from None
            raise

    def _open(self) -> None:
        if self._identity() == (0, 0, 0):  # an empty file, or a new one
            with self._transaction():
                if self._identity() == (0, 0, 0):  # no other process was quicker
                    migrations.create(self._db)
        if self._version() < migrations.latest_version():
            self._migrate()
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("PRAGMA synchronous = NORMAL")
        # Readers then never wait for a writer. The change needs exclusive access for a
        # moment: if another process has the file open, the next one to open it tries.
        with suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA journal_mode = WAL")

    def _version(self) -> int:
        """Return the version of the file; refuse what this cofire cannot use."""
        application, version, _ = self._identity()
        if application != migrations.APPLICATION:
            raise StoreError(
                f"{self.path} is not a run store: it is another program's database. "
                "Name another folder."
            )
        if version > migrations.latest_version():
            raise StoreError(
                f"{self.path} was written by a newer cofire (schema {version}, "
                f"this one knows {migrations.latest_version()}): please update cofire."
            )
        return version

    def _migrate(self) -> None:
        """Bring an older file up to date in one transaction, unless it is in use."""
        latest = migrations.latest_version()
        with self._transaction():
            version = self._version()  # another process may have been quicker
            if version == latest:
                return
            self._refuse_if_in_use(version)
            try:
                migrations.migrate(self._db, version)
            except Exception as error:
                raise StoreError(
                    f"{self.path} could not be brought from schema {version} to "
                    f"{latest}: {error}. The file is as it was."
                ) from error

    def _refuse_if_in_use(self, version: int) -> None:
        """Keep the claims of others: an older cofire cannot write to a newer schema."""
        claims = self._db.execute("SELECT * FROM runs WHERE status = 'running'")
        owners = {claim["owner"] for claim in claims if not _is_void(claim)}
        if owners:
            raise StoreError(
                f"{self.path} has the schema {version} of an older cofire, which is "
                f"running its runs ({', '.join(sorted(owners))}, HOST:PROCESS): wait "
                "until they are done, or stop it."
            )

    def _identity(self) -> tuple[int, int, int]:
        """Return the file's application, its version, and how many tables it has."""
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        count = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return application, version, count

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
            except BaseException:  # an interrupt too, even before the first statement
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # ---- what to run ---------------------------------------------------------------

    def add(self, runs: Iterable[Run]) -> None:
        """Add runs as waiting; those that the store has already stay as they are."""
        with self._transaction():
            self._add(runs)

    def _add(self, runs: Iterable[Run]) -> None:
        columns = ", ".join(("key", *RUN_FIELDS))
        marks = ", ".join("?" * (1 + len(RUN_FIELDS)))
        self._db.executemany(
            f"INSERT INTO runs ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",
            [(run.key, *(getattr(run, f) for f in RUN_FIELDS)) for run in runs],
        )

    def claim(self, run: Run, *, again: bool = False) -> bool:
        """Claim a run that is waiting; with `again` also one that failed.

        A run in progress is free if its owner is dead or gave no sign of life for long.
        """
        with self._transaction():
            row = self._db.execute(
                "SELECT status, owner, alive FROM runs WHERE key = ?", (run.key,)
            ).fetchone()
            free = (
                row is not None
                and row["status"] != "done"
                and (row["status"] != "failed" or again)
                and (row["status"] != "running" or _is_void(row))
            )
            if free:
                self._db.execute(
                    "UPDATE runs SET status = 'running', owner = ?, alive = ?, "
                    "error = NULL WHERE key = ?",
                    (self.owner, time.time(), run.key),
                )
        return free

    def give_sign_of_life(self) -> None:
        """Record that the runs claimed by this process are still in progress."""
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET alive = ? WHERE status = 'running' AND owner = ?",
                (time.time(), self.owner),
            )

    def give_back(self, runs: Iterable[Run]) -> None:
        """Return interrupted runs of this process to the waiting ones."""
        with self._transaction():
            self._db.executemany(
                "UPDATE runs SET status = 'waiting', owner = NULL "
                "WHERE key = ? AND status = 'running' AND owner = ?",
                [(run.key, self.owner) for run in runs],
            )

    # ---- outcomes ------------------------------------------------------------------

    def finish(self, run: Run, outcome: Outcome, machine: Mapping[str, Any]) -> None:
        """Write the outcome of a run in one transaction.

        It is written even if the run was deleted, or taken for abandoned, meanwhile.
        """
        from cofire import __version__

        values = {
            **{name: getattr(outcome, name) for name in COLUMNS},
            "status": "done",
            "finished": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
            "cofire": __version__,
            "machine": canonical(dict(machine)),
            "receipt": canonical(dict(outcome.receipt)),
            "notes": canonical(dict(outcome.notes)),
            "owner": None,
            "error": None,
        }
        with self._transaction():
            self._add([run])
            run_id = self._set(run, values)
            self._db.execute("DELETE FROM curves WHERE run = ?", (run_id,))
            self._db.executemany(
                "INSERT INTO curves VALUES (?, ?, ?)",
                [
                    (run_id, name, np.asarray(curve, "<f4").tobytes())
                    for name, curve in outcome.curves.items()
                ],
            )

    def take_over(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write finished runs of another store, without curves; all or none."""
        names = (*COLUMNS, "finished", "cofire", "machine", "notes")
        over = {"status": "done", "receipt": "{}", "owner": None, "error": None}
        with self._transaction():
            for row in rows:
                run = run_of(row)
                self._add([run])
                self._set(run, {name: row[name] for name in names} | over)

    def fail(self, run: Run, error: str) -> None:
        """Write why a run failed, unless another process has finished it."""
        with self._transaction():
            self._db.execute(
                "UPDATE runs SET status = 'failed', error = ?, owner = NULL "
                "WHERE key = ? AND status != 'done'",
                (error, run.key),
            )

    def _set(self, run: Run, values: Mapping[str, Any]) -> int:
        columns = ", ".join(f"{name} = ?" for name in values)
        row = self._db.execute(
            f"UPDATE runs SET {columns} WHERE key = ? RETURNING id",
            (*values.values(), run.key),
        ).fetchone()
        return int(row["id"])

    # ---- reading -------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Count the runs that are waiting, running, done and failed."""
        found = dict(
            self._db.execute("SELECT status, count(*) FROM runs GROUP BY status")
        )
        return {s: found.get(s, 0) for s in ("waiting", "running", "done", "failed")}

    def rows(self, **where: Any) -> list[dict[str, Any]]:
        """Return everything about runs except curves, chosen by columns of `runs`.

        A list stands for any of its values, None for a column without a value.
        """
        terms, values = ["1"], []
        for name, value in where.items():
            choices = list(value) if isinstance(value, list | tuple | set) else [value]
            empty = f" OR {name} IS NULL" if None in choices else ""
            terms.append(f"({name} IN ({', '.join('?' * len(choices))}){empty})")
            values += choices
        query = f"SELECT * FROM runs WHERE {' AND '.join(terms)} ORDER BY id"
        return [dict(row) for row in self._db.execute(query, values)]

    def results(
        self, *, curves: Iterable[str] | None = None, **where: Any
    ) -> list[Result]:
        """Return the finished runs with the curves of these names; None reads all."""
        names = None if curves is None else list(curves)
        found = []
        for row in self.rows(status="done", **where):
            found.append(
                Result(
                    **{name: row[name] for name in COLUMNS},
                    curves=self.curves(row["id"], names),
                    receipt=json.loads(row["receipt"]),
                    notes=json.loads(row["notes"]),
                    run=run_of(row),
                    id=row["id"],
                    cofire=row["cofire"],
                    machine=json.loads(row["machine"]),
                    finished=row["finished"],
                )
            )
        return found

    def curves(
        self, run_id: int, names: Iterable[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the curves of a run, all or those of these names."""
        query = "SELECT name, content FROM curves WHERE run = ?"
        wanted = [] if names is None else list(names)
        if names is not None:
            query += f" AND name IN ({', '.join('?' * len(wanted))})"
        found = self._db.execute(query, (run_id, *wanted))
        return {name: np.frombuffer(content, "<f4") for name, content in found}

    def delete(self, ids: Iterable[int]) -> int:
        """Delete runs; return how many there were."""
        with self._transaction():
            gone = [
                self._db.execute("DELETE FROM runs WHERE id = ?", (i,)).rowcount
                for i in ids
            ]
        return sum(gone)


def run_of(row: Mapping[str, Any]) -> Run:
    """Return the run that a row of the table is about."""
    return Run(**{name: row[name] for name in RUN_FIELDS})


def _is_void(claim: Mapping[str, Any]) -> bool:
    """Whether the owner of a claim is dead, or gave no sign of life for long."""
    host, _, pid = (claim["owner"] or ":").rpartition(":")
    here = host == socket.gethostname() and os.name == "posix"
    if here and pid.isdigit() and int(pid) != os.getpid():
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
    return time.time() - (claim["alive"] or 0.0) > SILENCE
