"""Compile C for a Cortex-M, run it under QEMU, and count bytes and instructions.

Needs Debian's gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm")
HOW_TO_INSTALL = (
    "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
)


@dataclass(frozen=True)
class Core:
    """A processor, as the compiler and as QEMU call it."""

    flags: tuple[str, ...]
    board: str


CORES = {
    "Cortex-M4F": Core(
        ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "mps2-an386"
    ),
    "Cortex-M3": Core(("-mcpu=cortex-m3", "-mfloat-abi=soft"), "mps2-an385"),
}
"""M4F has a unit for float; M3 has none and computes floats by functions."""

_OPTIONS = (
    "-mthumb -std=c99 -O2 -ffunction-sections -fdata-sections -Wall -Wextra -Werror"
).split()
_LINKED = "-nostartfiles --specs=nosys.specs -Wl,--gc-sections".split()


@dataclass(frozen=True)
class Program:
    """C files, and how a row is predicted with them."""

    include: str
    """The header that declares it."""
    feature: str
    """The type of a feature."""
    call: str
    """The class of a row, as an expression of `row`."""
    folder: Path
    """Where its files are."""
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What a program said and took."""

    labels: list[int]
    instructions: float
    """Per prediction, without the loop around it."""
    n_bytes: int
    """That predictions add to the program: code, constants, functions of libraries."""


def measure(program: Program, rows: np.ndarray, core: Core, folder: Path) -> Measured:
    """Predict rows on a board; the rows are constants of the program."""
    folder.mkdir(parents=True, exist_ok=True)
    full = _built(program, rows, core, folder, call=program.call)
    empty = _built(program, rows, core, folder, call="row[0] > 0")
    said = run(full, core)
    loop = run(empty, core)[-1]
    return Measured(
        said[: len(rows)],
        (said[-1] - loop) / (len(rows) * _REPEATS),
        _stored_bytes(full) - _stored_bytes(empty),
    )


_REPEATS = 4
_MAIN = """\
#include "board.h"
#include "{include}"

#include <math.h>

static const {feature} rows[{n_rows}][{n_features}] = {{
{rows}
}};

static int __attribute__((noinline)) predicted(const {feature} *row)
{{
    return {call};
}}

int main(void)
{{
    int sum = 0;
    int i;
    int k;
    for (i = 0; i < {n_rows}; i++) {{
        board_say((unsigned)predicted(rows[i]));
    }}
    board_start();
    for (k = 0; k < {repeats}; k++) {{
        for (i = 0; i < {n_rows}; i++) {{
            sum += predicted(rows[i]);
        }}
    }}
    board_say(board_instructions());
    return sum;
}}
"""


def _built(
    program: Program, rows: np.ndarray, core: Core, folder: Path, *, call: str
) -> Path:
    lines = [", ".join(_number(value) for value in row) for row in rows]
    main = folder / "main.c"
    main.write_text(
        _MAIN.format(
            include=program.include,
            feature=program.feature,
            n_rows=len(rows),
            n_features=rows.shape[1],
            rows=",\n".join(f"    {{{line}}}" for line in lines),
            call=call,
            repeats=_REPEATS,
        )
    )
    sources = [main, *(program.folder / name for name in program.sources)]
    elf = folder / ("empty.elf" if call != program.call else "full.elf")
    return build(sources, core, elf, f"-I{program.folder}", *program.flags)


def _number(value: np.generic) -> str:
    if np.isnan(value):
        return "NAN"
    return repr(value.item()) + ("f" if value.dtype == np.float32 else "")


def build(sources: list[Path], core: Core, elf: Path, *flags: str) -> Path:
    """Compile and link a program for a board."""
    command = ["arm-none-eabi-gcc", *core.flags, *_OPTIONS, f"-I{HERE}", *flags]
    command += [*_LINKED, "-T", str(HERE / "board.ld"), str(HERE / "board.c")]
    _done([*command, *map(str, sources), "-o", str(elf), "-lm"])
    return elf


def run(elf: Path, core: Core) -> list[int]:
    """Return the numbers that a program says."""
    command = ["qemu-system-arm", "-M", core.board, "-kernel", str(elf), "-nographic"]
    command += ["-monitor", "none", "-serial", "null", "-icount", "shift=0"]
    command += ["-semihosting-config", "enable=on,target=native"]
    return [int(word) for word in _done(command).split()]


def _stored_bytes(elf: Path) -> int:
    text, data = _done(["arm-none-eabi-size", str(elf)]).splitlines()[1].split()[:2]
    return int(text) + int(data)  # variables with a start value are stored too


def _done(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
