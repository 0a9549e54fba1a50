"""`cofire demo`: dense, SET and CTRE, the default and gradient boosting, live."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import check_out, errors_in_words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def demo(
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 200,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 3,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for cofire-demo.html, or a file name ending in .html."
        ),
    ] = Path(),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, for programs.")
    ] = False,
) -> None:
    """Train dense, SET, CTRE, the default and boosting on Madelon; compare."""
    from rich.console import Console

    start = time.perf_counter()
    page = out if out.suffix == ".html" else out / "cofire-demo.html"
    with errors_in_words():
        check_out(page)
    console = Console(stderr=as_json, highlight=False)
    console.print(
        "Madelon: 500 features, 20 of them useful; 1800 rows to learn from, 200 to "
        f"choose the epoch, 600 to test. Networks 500-100-100-100-2, {epochs} epochs; "
        "then SparseMLPClassifier() and gradient boosting as they come, on 2000 rows."
    )

    from cofire.lab.demo.page import write_demo_page
    from cofire.lab.demo.training import summary, train_all

    board = _Board(console, seeds, epochs)
    with board:
        runs = train_all(range(seeds), epochs, board)
    figures = summary(runs, time.perf_counter() - start)
    write_demo_page(page, figures)
    model = page.with_suffix(".cofire")
    next(run.model for run in runs if run.method == "ctre_sim").save(model)

    if as_json:
        print(json.dumps(figures | {"page": str(page), "model": str(model)}))
    else:
        _print_result(console, figures, page, model)


def _print_result(
    console: "Console", figures: dict[str, Any], page: Path, model: Path
) -> None:
    n = len(figures["seeds"])
    console.print(
        "\nTest accuracy"
        + (f", mean ± standard deviation of {n} seeds:" if n > 1 else ", one seed:")
    )
    console.print(_comparison(figures))
    above = figures["points_above"]
    console.print(
        f"CTRE is {_points(above['dense'])} dense and {_points(above['set'])} SET.\n"
        "The default, SparseMLPClassifier(), is "
        f"{_points(figures['default_above_boosting'])} scikit-learn's gradient "
        f"boosting; {figures['seconds']:.0f} s in all.\n"
        f"The curves and the input connections: {page}\n\n"
        "Next:\n"
        f"  cofire info {model}   what the saved CTRE network is\n"
        "  cofire reproduce table2 --quick   a part of the paper's main table\n"
        "  cofire train my.csv --target label   the default on your own data\n"
        "  cofire compare my.csv --target label   all of these on your own data",
        soft_wrap=True,
    )


def _points(difference: float) -> str:
    side = "above" if difference >= 0 else "below"
    return f"{abs(difference):.1f} points {side}"


def _comparison(figures: dict[str, Any]) -> "Table":
    from rich.table import Table

    table = Table("")
    for heading in ("test accuracy", "connections", "density", "training"):
        table.add_column(heading, justify="right")
    for method, row in figures["methods"].items():
        spread = f" ± {100 * row['sd']:.1f}" if len(row["accuracies"]) > 1 else ""
        table.add_row(
            row["title"],
            f"{100 * row['mean']:.1f}{spread} %",
            *_amount(row),
            f"{row['seconds']:.1f} s",
            style="bold" if method == "default" else "",
        )
    return table


def _amount(row: dict[str, Any]) -> tuple[str, str]:
    """Return the number of connections and the density; a forest of trees has none."""
    if row["connections"] is None:
        return "", ""
    return f"{row['connections']:,}", f"{100 * row['density']:.1f} %"


class _Board:
    """The table of runs: live on a terminal, otherwise a line for each finished one."""

    def __init__(self, console: "Console", n_seeds: int, n_epochs: int) -> None:
        from rich.live import Live

        from cofire.lab.demo.training import BOOSTING, TITLES

        self.console, self.n_epochs, self.titles = console, n_epochs, TITLES
        self.rows = {
            (method, seed): [""] * 4
            for method in TITLES
            for seed in range(1 if method == BOOSTING else n_seeds)
        }
        self.live = Live(
            get_renderable=self.table, console=console, refresh_per_second=8
        )

    def __enter__(self) -> None:
        if self.console.is_terminal:
            self.live.start()

    def __exit__(self, *error: object) -> None:
        if self.console.is_terminal:
            self.live.stop()

    def table(self) -> "Table":
        from rich.table import Table

        table = Table("", "seed")
        for heading in ("epoch", "loss", "validation", "test"):
            table.add_column(heading, justify="right", min_width=len("100.0 %"))
        for (method, seed), cells in self.rows.items():
            table.add_row(self.titles[method], str(seed), *cells)
        return table

    def watch(self, method: str, seed: int, monitor: Any) -> Any:
        from cofire.callbacks import Callback

        board, key = self, (method, seed)
        best = {"validation": "", "test": ""}

        class Row(Callback):
            def on_train_begin(self, estimator: Any, progress: Any, n: int) -> None:
                self.n_epochs = n

            def on_epoch_end(self, progress: Any, record: Any) -> None:
                if monitor is not None and record["stalled_epochs"] == 0:
                    best["validation"] = _percent(record["validation_score"])
                    best["test"] = _percent(monitor.scores[-1])
                board.rows[key] = [
                    f"{progress.epoch}/{self.n_epochs}",
                    f"{record['loss']:.4f}",
                    *best.values(),
                ]

        return Row()

    def finish(self, fitted: Any) -> None:
        """Show a finished model: its row is complete, or its line is printed."""
        cells = self.rows[fitted.method, fitted.seed]
        cells[3] = _percent(fitted.test_accuracy)
        if self.console.is_terminal:
            return
        names = ("epoch", "loss", "validation", "test")
        known = [f"{name} {v}" for name, v in zip(names, cells, strict=True) if v]
        title = f"{self.titles[fitted.method]:<6} seed {fitted.seed}"
        self.console.print(
            f"{title}: {', '.join(known)}, {fitted.seconds:.1f} s", soft_wrap=True
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
