"""The command line: one file per command, heavy imports inside the commands."""

import _thread
import signal
import sys
import threading
from typing import Annotated

import typer

from cofire.cli.choices import NamesChoices, NamesMethods
from cofire.cli.compare import compare
from cofire.cli.data import data
from cofire.cli.demo import demo
from cofire.cli.doctor import doctor
from cofire.cli.evaluate import evaluate
from cofire.cli.explain import explain
from cofire.cli.export import export
from cofire.cli.info import info
from cofire.cli.lists import spread_lists
from cofire.cli.predict import predict
from cofire.cli.report import report
from cofire.cli.reproduce import reproduce
from cofire.cli.runs import runs
from cofire.cli.train import train
from cofire.cli.tune import tune

INTERRUPTED = 130  # the status that shells give a program that Ctrl-C has ended

app = typer.Typer(
    help="Neural networks that are sparse from the first step to the last.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Help takes 0.15 s of processor time with rich, 0.06 s without.
    rich_markup_mode=None,
)
app.command()(demo)
app.command(cls=NamesMethods)(train)
app.command(cls=NamesChoices)(predict)
app.command(cls=NamesChoices)(evaluate)
app.command()(explain)
app.command()(info)
app.command(cls=NamesChoices)(export)
app.add_typer(data, name="data")
app.command(cls=NamesChoices)(compare)
app.command(cls=NamesChoices)(tune)
app.command(cls=NamesChoices)(reproduce)
app.command()(report)
app.add_typer(runs, name="runs")
app.command()(doctor)


def _print_version(asked: bool) -> None:
    if asked:
        from cofire import __version__

        print(f"cofire {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None: ...


def _follows_an_interrupt(error: BaseException | None) -> bool:
    """Return whether it was Ctrl-C, which some native modules turn into ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupt_again(swallowed: "sys.UnraisableHookArgs") -> None:
    """Repeat an interrupt that Python had to ignore, as it does within an import."""
    if swallowed.exc_type is KeyboardInterrupt:
        # Later, since it would be ignored again here.
        timer = threading.Timer(0.02, _thread.interrupt_main)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(swallowed)


def main() -> None:
    """Run the command line."""
    # A terminal that lacks a character gets a question mark, not a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # Services and jobs are stopped with SIGTERM: treat it like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    try:
        app(spread_lists(sys.argv[1:]))
        code: int | str | None = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as end:
        code = end.code
    except Exception as error:
        if not _follows_an_interrupt(error):
            raise
        code = INTERRUPTED
    # From here on, another signal would only disturb the end of Python itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if code == INTERRUPTED:
        sys.stderr.write("cofire: interrupted\n")
    sys.exit(code)
