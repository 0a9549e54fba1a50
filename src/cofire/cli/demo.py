"""`cofire demo`: dense, SET and CTRE side by side, live."""

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
    """Train dense, SET and CTRE on Madelon for a minute; compare."""
    from rich.console import Console

    start = time.perf_counter()
    page = out if out.suffix == ".html" else out / "cofire-demo.html"
    with errors_in_words():
        check_out(page)
    console = Console(stderr=as_json, highlight=False)
    console.print(
        "Madelon: 500 features, 20 of them useful; 1800 rows to learn from, 200 to "
        f"choose the epoch, 600 to test. Networks 500-100-100-100-2, {epochs} epochs."
    )

    from cofire.lab.demo.page import write_demo_page
    from cofire.lab.demo.training import summary, train_all

    board = _Board(console, seeds, epochs)
    with board:
        runs = train_all(range(seeds), epochs, board.watch)
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
        "\nTest accuracy of the epoch that the validation rows chose"
        + (f",\nmean ± standard deviation of {n} seeds:" if n > 1 else ", one seed:")
    )
    console.print(_comparison(figures))
    above = figures["points_above"]
    console.print(
        f"CTRE is {_points(above['dense'])} dense and {_points(above['set'])} SET; "
        f"{figures['seconds']:.0f} s in all.\n"
        f"The curves and the input connections: {page}\n\n"
        "Next:\n"
        f"  cofire info {model}   what the saved CTRE network is\n"
        "  cofire reproduce table2 --quick   a part of the paper's main table\n"
        "  cofire compare my.csv --target label   the same for your own data",
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
            f"{row['connections']:,}",
            f"{100 * row['density']:.1f} %",
            f"{row['seconds']:.1f} s",
            style="bold" if method == "ctre_sim" else "",
        )
    return table


class _Board:
    """The table of runs: live on a terminal, otherwise a line for each finished one."""

    def __init__(self, console: "Console", n_seeds: int, n_epochs: int) -> None:
        from rich.live import Live

        from cofire.lab.demo.training import TITLES

        self.console, self.n_epochs, self.titles = console, n_epochs, TITLES
        self.rows = {(m, s): [""] * 4 for m in TITLES for s in range(n_seeds)}
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
        begin = time.perf_counter()
        best = {"validation": 0.0, "test": 0.0}

        class Row(Callback):
            def on_epoch_end(self, progress: Any, record: Any) -> None:
                if record["stalled_epochs"] == 0:
                    best["validation"] = record["validation_score"]
                    best["test"] = monitor.scores[-1]
                board.rows[key] = [
                    f"{progress.epoch}/{board.n_epochs}",
                    f"{record['loss']:.4f}",
                    f"{100 * best['validation']:.1f} %",
                    f"{100 * best['test']:.1f} %",
                ]

            def on_train_end(self, progress: Any) -> None:
                if not board.console.is_terminal:
                    epoch, loss, validation, test = board.rows[key]
                    board.console.print(
                        f"{board.titles[method]:<6} seed {seed}: epoch {epoch}, loss "
                        f"{loss}, validation {validation}, test {test}, "
                        f"{time.perf_counter() - begin:.1f} s",
                        soft_wrap=True,
                    )

        return Row()
