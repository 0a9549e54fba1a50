"""The command line, called in this process."""

from typer.testing import CliRunner

from cofire.cli import app


def run(*arguments):
    """Call `cofire` with these arguments, whatever their types."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def done(*arguments):
    """Call it where it must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result
