"""The display of a campaign of runs while they are running."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofire.cli.inputs import tell
from cofire.cli.runs import OUT
from cofire.cli.words import in_options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cofire.lab.experiments.results import Outcome
    from cofire.lab.experiments.runner import Campaign


class CampaignBoard:
    """A live table on a terminal, otherwise a line for each finished run."""

    def __init__(self, console: "Console") -> None:
        from rich.live import Live

        self.console, self.campaign = console, None
        self._live = Live(
            get_renderable=self.table, console=console, refresh_per_second=4
        )
        self._told: Any = None
        self._failures = 0
        self._notes: dict[str, None] = {}

    def __enter__(self) -> "CampaignBoard":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.console.is_terminal:
            self._live.stop()
        if error[0] is KeyboardInterrupt:
            self.say("Finished runs are kept: the same command resumes from here.")

    def watch(self, campaign: "Campaign") -> None:
        """Show the state of the campaign; the runner calls this at every change."""
        from cofire.lab.experiments.labels import failure, run_label

        self.campaign = campaign  # type: ignore[assignment]
        if campaign.last is not None:
            self._notes |= dict.fromkeys(campaign.last[1].notes.get("warnings", ()))
        if self.console.is_terminal:
            return
        for run, error in campaign.failed[self._failures :]:
            self.say(f"failed: {run_label(run)}: {in_options(failure(error))}")
        self._failures = len(campaign.failed)
        if campaign.last is not None and campaign.last is not self._told:
            self._told = campaign.last
            run, outcome = campaign.last
            self.say(
                f"{_done(campaign)}  {run_label(run)}: {_score(outcome)} in "
                f"{outcome.seconds:.1f} s{_on(campaign)}; {_rest(campaign)}"
            )

    def conclude(self, campaign: "Campaign", out: Path = OUT) -> None:
        """Print what the display did not: notes once for all runs, and failures.

        out: the folder of the store, which is named if it is not the default.
        """
        from cofire.lab.experiments.labels import failure, run_label

        tell([note.rstrip(".") for note in self._notes])
        if self.console.is_terminal:
            for run, error in campaign.failed:
                self.say(f"failed: {run_label(run)}: {in_options(failure(error))}")
        if campaign.n_failed_before:
            where = "" if out == OUT else f" --out {shlex.quote(str(out))}"
            self.say(
                f"{campaign.n_failed_before} runs failed before: `cofire runs list "
                f"--status failed{where}` says why, --retry-failed runs them again."
            )

    def say(self, line: str) -> None:
        """Print a line, above the live table if there is one."""
        # Not as markup: errors and options may have brackets.
        self.console.print(line, soft_wrap=True, markup=False)

    def table(self) -> "Table | str":
        from rich.table import Table
        from rich.text import Text

        from cofire.lab.experiments.labels import run_label

        campaign: Campaign | None = self.campaign
        if campaign is None:
            return "Reading the store ..."
        table = Table(
            title=f"{_done(campaign)}, {_rest(campaign)}", title_justify="left"
        )
        table.add_column("running", min_width=48)
        table.add_column("seconds", justify="right")
        named = dict(campaign.workers)
        if any(named.values()) or campaign.last_worker:
            table.add_column("worker")
        n_cells, now = len(table.columns), time.monotonic()
        for run, begun in list(campaign.running.items()):
            cells = Text(run_label(run)), f"{now - begun:.0f}", named.get(run)
            table.add_row(*cells[:n_cells])
        if campaign.last is not None:
            run, outcome = campaign.last
            what = Text(f"last: {run_label(run)}: {_score(outcome)}")
            last = what, f"{outcome.seconds:.0f}", campaign.last_worker
            table.add_row(*last[:n_cells], style="dim")
        return table


def duration(seconds: float) -> str:
    """Return seconds as text for people.

    >>> duration(42), duration(200), duration(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _score(outcome: "Outcome") -> str:
    from cofire.lab.experiments.labels import score_text
    from cofire.lab.experiments.results import noted_task

    return score_text(outcome.score, noted_task(outcome.notes))


def _done(campaign: "Campaign") -> str:
    done = campaign.n_done_before + campaign.done
    text = f"{done} of {campaign.n_runs} runs done"
    if campaign.running:
        text += f", {len(campaign.running)} running"
    failed = campaign.n_failed_before + len(campaign.failed)
    if failed:
        text += f", {failed} failed"
    if campaign.n_lost:
        text += (
            f", {campaign.n_lost} lost and begun again "
            f"({duration(campaign.lost_seconds)})"
        )
    return text


def _on(campaign: "Campaign") -> str:
    return f" on {campaign.last_worker}" if campaign.last_worker else ""


def _rest(campaign: "Campaign") -> str:
    if campaign.seconds_left is None:
        return "time left: not known yet"
    end = time.strftime("%H:%M", time.localtime(time.time() + campaign.seconds_left))
    return f"about {duration(campaign.seconds_left)} to go, until {end}"
