"""Table 1: the data sets on this machine, beside what the paper prints of them."""

from cofire.data import paper_data
from cofire.data.catalog import locate
from cofire.lab.names import DATA_NAMES, data_name
from cofire.lab.paper import published
from cofire.lab.paper.blocks import Choice
from cofire.lab.paper.item import Found
from cofire.lab.table import Table, Value


def data_tables(found: Found) -> list[Table]:
    """Return one row per figure that the paper prints of a data set."""
    printed = {row["dataset"]: row for row in published.rows("datasets")}
    rows: list[list[Value]] = []
    for data, own in _facts(found.choice).items():
        theirs = printed[data_name(data)]
        for name, value in own.items():
            paper = int(theirs[name])
            mark = "agrees" if value == paper else "differs"
            rows.append([data_name(data), name, value, paper, value - paper, mark])
    table = Table(
        "table1",
        "Table 1: the data sets",
        ("data", "figure", "ours", "paper", "difference", "mark"),
        rows,
        "Isolet has 6237 + 1560 = 7797 samples; the paper prints 7737.",
    )
    return [table]


def _facts(choice: Choice) -> dict[str, dict[str, int]]:
    """Count rows, features and classes of the data sets that are on this machine."""
    ours = {printed: name for name, printed in DATA_NAMES.items()}
    facts = {}
    for name in (ours[row["dataset"]] for row in published.rows("datasets")):
        if choice.data is not None and name not in choice.data:
            continue
        try:
            locate(name)
        except FileNotFoundError:
            continue
        data = paper_data(name)
        train, test = len(data.y_train), len(data.y_test)
        facts[name] = {
            "dimensions": data.X_train.shape[1],
            "samples": train + test,
            "train": train,
            "test": test,
            "classes": len(set(data.y_train.tolist())),
        }
    return facts
