"""The versions of the run store's file: how one is created, and brought up to date."""

import json
import sqlite3
from collections.abc import Callable

from cofire.lab.experiments.results import COLUMNS
from cofire.persistence.values import canonical

APPLICATION = 0x636F6669  # "cofi": distinguishes our files from other SQLite files

# What files of version 1 have: it never changes. What came later are migrations, and
# columns of `Outcome` with `since`; a new file goes through them like an old one.
FIRST_VERSION = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    data TEXT NOT NULL, method TEXT NOT NULL, hidden INTEGER NOT NULL, epsilon REAL,
    seed INTEGER NOT NULL, profile TEXT NOT NULL, epochs INTEGER NOT NULL,
    split INTEGER, options TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'running', 'done', 'failed')),
    owner TEXT, alive REAL, finished TEXT,
    score REAL, validation_score REAL, best_epoch INTEGER,
    connections INTEGER, density REAL, seconds REAL,
    cofire TEXT, machine TEXT, receipt TEXT, notes TEXT, error TEXT
);
CREATE INDEX runs_by_status ON runs (status);
-- One value per epoch (or, for `inputs`, one number per input): float32, little-endian.
CREATE TABLE curves (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (run, name)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = 1;
"""


def _name_old_defaults(db: sqlite3.Connection) -> None:
    """Version 2: profile "default" is the default recipe, which 0.1 did not have."""
    found = db.execute("SELECT id, key FROM runs WHERE profile = 'default'")
    for number, key in [tuple(row) for row in found]:
        values = json.loads(key)
        values[5] = "defaults_0_1"  # the sixth of a run's fields
        db.execute(
            "UPDATE runs SET profile = 'defaults_0_1', key = ? WHERE id = ?",
            (canonical(values), number),
        )


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {2: _name_old_defaults}
"""By version: what makes a file of the version before one of this version.

A new column of `Outcome` needs no entry here: it is added because of its `since`. A
function runs within a transaction that it must not end: no commit, no `executescript`.
"""


def latest_version() -> int:
    """Return the version that this cofire reads and writes."""
    return max([1, *MIGRATIONS, *(column.since for column in COLUMNS.values())])


def create(db: sqlite3.Connection) -> None:
    """Make the tables of the first version, then all that came later."""
    for statement in FIRST_VERSION.split(";\n"):
        db.execute(statement)
    migrate(db, 1)


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring the tables from this version to the latest, within the open transaction."""
    for new in range(version + 1, latest_version() + 1):
        if new in MIGRATIONS:
            MIGRATIONS[new](db)
        for column in COLUMNS.values():
            if column.since == new:
                db.execute(f"ALTER TABLE runs ADD COLUMN {column.sql}")
        db.execute(f"PRAGMA user_version = {new}")
