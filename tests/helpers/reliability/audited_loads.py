"""Load the files whose names come as JSON; say what Python's audit hook saw.

In a process of its own: an audit hook cannot be taken away again.
"""

import json
import sys

from cofire.saving import load


def audited(paths: list[str]) -> list[dict]:
    """What became of each path, and which events there were while it was loaded."""

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            opened.add(str(arguments[0]))
        if watching:
            events.add(event)

    events: set[str] = set()
    opened: set[str] = set()
    watching = False
    sys.addaudithook(hook)
    answers = []
    for path in paths:
        events.clear()
        opened.clear()
        watching = True
        try:
            load(path)
            outcome = "loaded"
        except (ValueError, OSError) as error:
            outcome = type(error).__name__
        finally:
            watching = False
        answers.append(
            {"outcome": outcome, "events": sorted(events), "opened": sorted(opened)}
        )
    return answers


if __name__ == "__main__":
    good, *paths = json.loads(sys.stdin.read())
    load(good)  # what the first load imports has nothing to do with the file
    sys.stdout.write(json.dumps(audited([good, *paths])))
