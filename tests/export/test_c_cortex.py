"""Exported C on an emulated Cortex-M: the same labels, and instructions counted."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from cofire.export import to_c
from cofire.export.reading import rows_of
from helpers.exported import case
from helpers.needs import needs_tool

HERE = Path(__file__).parents[2] / "benchmarks" / "cortex"
N_ROWS = 20


@pytest.fixture(scope="module")
def cortex():
    """Return the module that compiles and runs, if its tools are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        found = importlib.import_module("cortex_m")
    for tool in found.TOOLS:
        needs_tool(tool, found.HOW_TO_INSTALL)
    yield found
    sys.modules.pop("cortex_m")


@pytest.mark.parametrize("core", ["Cortex-M4F", "Cortex-M3"])
@pytest.mark.parametrize(
    ("name", "tables"),
    [("bytes", "float"), ("bytes", "int8"), ("missing values", "int16")],
)
def test_a_board_predicts_what_the_estimator_does(name, tables, core, cortex, tmp_path):
    own = case(name)
    rows = rows_of(own.model, own.X)
    done = to_c(own.model, tmp_path / "model.c", tables=tables, X=own.X)
    kinds = {"unsigned char": np.uint8, "float": np.float32, "double": np.float64}
    rows = rows[:N_ROWS].astype(kinds[done.feature])
    program = cortex.Program(
        "model.h", done.feature, "model_predict(row)", tmp_path, ("model.c",)
    )
    found = cortex.measure(program, rows, cortex.CORES[core], tmp_path)
    said = own.model.classes_[found.labels]
    expected = own.model.predict(own.X[:N_ROWS])
    assert (said != expected).sum() <= (0 if tables == "float" else done.loss.n_other)
    assert len(said) == N_ROWS
    # A connection takes some instructions, more where floats are computed by functions.
    per_connection = found.instructions / done.n_connections
    assert (5 < per_connection < 40) if core == "Cortex-M4F" else per_connection > 40
    assert done.table_bytes < found.n_bytes < done.table_bytes + 16_000


def test_instructions_are_counted(cortex, tmp_path):
    main = tmp_path / "main.c"
    main.write_text(
        '#include "board.h"\n'
        "int main(void)\n{\n"
        "    unsigned n = 20000;\n"
        "    board_start();\n"
        '    __asm__ volatile("1: subs %0, %0, #1\\n\\tbne 1b" : "+r"(n) : : "cc");\n'
        "    board_say(board_instructions());\n"
        "    return 0;\n}\n"
    )
    core = cortex.CORES["Cortex-M4F"]
    (found,) = cortex.run(cortex.build([main], core, tmp_path / "main.elf"), core)
    assert found == pytest.approx(40_000, abs=100)
