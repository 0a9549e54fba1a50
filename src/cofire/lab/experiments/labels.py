"""Short texts about runs: their data, how it was read, their settings."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cofire.lab.experiments.grid import BASELINE_PROFILE, Cell, Run
from cofire.persistence.values import canonical

Subject = tuple[str, str, str]


def own_file(run: Run | Cell) -> dict[str, Any] | None:
    """Return how a run read the user's file; None for a data set of the catalogue."""
    found: dict[str, Any] | None = json.loads(run.options).get("file")
    return found


def files_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return the users' files that runs read: checksums by path."""
    found = {}
    for run in runs:
        file = own_file(run)
        if file is not None:
            found[run.data] = file["sha256"]
            if "test_sha256" in file:
                found[file["test"]] = file["test_sha256"]
    return found


def settings(run: Run | Cell) -> str:
    """Return the options of a run without those of its file: canonical JSON."""
    options = json.loads(run.options)
    return canonical({name: options[name] for name in options if name != "file"})


def subject(run: Run | Cell) -> Subject:
    """Identify the data of a run; a copy of a file in another folder is the same.

    Returns the name, the checksum ("" for a data set of the catalogue) and how the file
    was read.
    """
    file = own_file(run)
    if file is None:
        return run.data, "", "{}"
    reading = {name: value for name, value in file.items() if name != "sha256"}
    if "test_sha256" in file:
        reading["test"] = Path(file["test"]).name
    return Path(run.data).name, file["sha256"], canonical(reading)


def data_titles(runs: Iterable[Run | Cell]) -> dict[Subject, str]:
    """Return a short name for each subject: the file's, and how it differs from others.

    >>> def run(**file):
    ...     options = {"file": {"sha256": "351ba6cd", "header": True, **file}}
    ...     return Run("/a/my.csv", "set", 9, 1.0, 0, options=canonical(options))
    >>> list(data_titles([run(target="label")]).values())
    ['my.csv']
    >>> both = run(target="label"), run(target="city", scale="minmax")
    >>> list(data_titles(both).values())
    ['my.csv, target label', 'my.csv, target city, scale minmax']
    """
    subjects = list(dict.fromkeys(subject(run) for run in runs))
    titles: dict[Subject, str] = {}
    for own in subjects:
        name, digest, _ = own
        alike = [other for other in subjects if other[0] == name]
        shared = set.intersection(*(set(_reading(other)) for other in alike))
        words = [word for word in _reading(own) if word not in shared]
        if digest and len({other[1] for other in alike}) > 1:
            words.append(f"sha256 {digest[:6]}")
        title = ", ".join([name, *words])
        # E.g. two test files of the same name.
        again = sum(
            re.fullmatch(rf"{re.escape(title)}( #\d+)?", other) is not None
            for other in titles.values()
        )
        titles[own] = f"{title} #{again + 1}" if again else title
    return titles


def run_label(run: Run) -> str:
    """Describe a run in a few words.

    >>> run_label(Run("madelon", "set", 100, 1.0, 3))
    'madelon set n=100 eps=1 seed 3, 500 epochs'
    >>> run_label(Run("madelon", "dense", 100, None, 3, "house", 60, 1))
    'madelon dense n=100 seed 3 split 1, 60 epochs, profile house'
    >>> run_label(Run.of(data="madelon", method="random_forest", seed=3))
    'madelon random_forest seed 3'
    """
    usual = "masked" if own_file(run) is None else "default"
    words = [Path(run.data).name, run.method]
    words += [f"n={run.hidden}"] if run.hidden else []
    words += [] if run.epsilon is None else [f"eps={run.epsilon:g}"]
    words += [f"seed {run.seed}"]
    words += [] if run.split in (None, run.seed) else [f"split {run.split}"]
    details = [f"{run.epochs} epochs"] if run.epochs else []
    if run.profile not in (usual, BASELINE_PROFILE):
        details.append(f"profile {run.profile}")
    details += _reading(subject(run))
    details += [options_text(settings(run))] if settings(run) != "{}" else []
    return ", ".join([" ".join(words), *details])


def options_text(options: str) -> str:
    """Return a run's own options (JSON) as text for people.

    >>> options_text('{"alpha":0.1,"method_params":{"patience":20}}')
    'alpha 0.1, patience 20'
    """
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in _flat(json.loads(options))
    )


def score_text(score: float, task: str) -> str:
    """Format a score: the fraction of rows in per cent, or R².

    >>> score_text(0.4921, "classification"), score_text(-0.086, "regression")
    ('49.2 %', 'R² -0.086')
    """
    return f"R² {score:.3f}" if task == "regression" else f"{100 * score:.1f} %"


def failure(error: str) -> str:
    r"""Return why a run failed, in a line: what follows the last call of a traceback.

    The error may have further lines; `cofire runs show` prints all of them.

    >>> failure("Traceback ...:\n  File 'a.py', line 1\n    f()\nOSError: gone.\n  url")
    'OSError: gone.'
    """
    lines = error.strip().splitlines()
    calls = [i for i, line in enumerate(lines) if line.startswith("  File ")]
    after = lines[calls[-1] + 1 :] if calls else lines[-1:]
    return next((line for line in after if line[:1].strip()), lines[-1])


def _reading(of: Subject) -> list[str]:
    """Return how a file was read, except for defaults; the target comes first."""
    found = json.loads(of[2])
    words = []
    for name in sorted(found, key=lambda name: (name != "target", name)):
        value = found[name]
        if name == "test_sha256":
            continue
        if name == "header":
            words += [] if value else ["no header"]
        elif name == "test":
            words.append(f"test {Path(value).name}")
        elif isinstance(value, list):
            words.append(f"{name} {' '.join(map(str, value))}")
        else:
            words.append(f"{name} {value}")
    return words


def _flat(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from _flat(value)
        else:
            yield name, value
