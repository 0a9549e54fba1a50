"""`cofire export`: a saved model as a program or file that does not need cofire."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofire.cli.inputs import check_out, errors_in_words, load_model, read_model
from cofire.cli.options import Decimal, Na, NoHeader, Samples, Separator, Target

if TYPE_CHECKING:
    from cofire.export.targets import Target as ExportTarget


def export(
    model: Annotated[
        Path, typer.Argument(help="A file written by `cofire train` or `cofire.save`.")
    ],
    to: Annotated[str, typer.Option(help="What to write: {target}.")],
    data: Annotated[
        str | None,
        typer.Argument(
            help="Labelled rows on which to measure what is lost: a file ({file}), or "
            "a name that `cofire data list` shows."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: the model's name).")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="C: how all names begin (default: the file's).")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="C: weights in {tables}. [float]")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="C, ONNX: features as float or double. [C: what the model needs; "
            "ONNX: double]"
        ),
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="ONNX: each layer as {layers}. [auto]")
    ] = None,
    target: Target = None,
    samples: Samples = None,
    na: Na = None,
    no_header: NoHeader = False,
    separator: Separator = None,
    decimal: Decimal = None,
) -> None:
    """Write a saved model as a file that does not need cofire.

    It takes features as they were measured: scaling is part of it.
    """
    with errors_in_words():
        from cofire.data import Reading
        from cofire.export.targets import target_of

        known = target_of(to)
        given = {"name": name, "tables": tables, "features": features, "layers": layers}
        options: dict[str, Any] = _options(to, known, given)
        path = out or Path(known.file_name(model.stem))
        check_out(path)
        if data is not None:
            reading = Reading(
                target,
                samples=samples,
                labelled=True,
                na=tuple(na or ()),
                header=not no_header,
                separator=separator,
                decimal=decimal,
            )
            options["X"], options["y"] = load_model(model).file_rows(data, reading)
        print(known.write(read_model(model)[0], path, **options))
        if data is None:
            print(
                "To measure what is lost, name labelled rows that the model was not "
                f"trained on: cofire export {model} ROWS --to {to}"
            )


def _options(
    name: str, target: "ExportTarget", given: dict[str, Any]
) -> dict[str, Any]:
    """Return the options that were given; a ValueError for those of other targets."""
    some = {option: value for option, value in given.items() if value is not None}
    others = [option for option in some if option not in target.options]
    if others:
        raise ValueError(f"--{others[0]} is not for --to {name}: leave it out.")
    return some
