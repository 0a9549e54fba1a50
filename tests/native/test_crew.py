"""The threads of native code, as a program of their own: no hang, no race, no crash."""

import os
import subprocess
from pathlib import Path

import pytest

from helpers.needs import missing, needs_tool

SOURCE = Path(__file__).with_name("crew.cpp")
HEADERS = Path(__file__).parents[2] / "src" / "native"


def built(program, *options):
    compiler = needs_tool(os.environ.get("CXX", "c++"), "apt-get install g++")
    command = [compiler, "-std=c++20", "-O1", "-pthread", f"-I{HEADERS}", *options]
    done = subprocess.run(
        [*command, str(SOURCE), "-o", str(program)], text=True, stderr=subprocess.PIPE
    )
    return program if done.returncode == 0 else pytest.fail(done.stderr)


def run(program, *arguments):
    return subprocess.run(
        [program, *map(str, arguments)],
        text=True,
        timeout=120,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_a_crew_ends_and_opens_every_phase_once(tmp_path):
    program = built(tmp_path / "crew")
    for n_threads in (2, 4, 7):
        done = run(program, n_threads, 3000)
        assert done.returncode == 0, done.stdout


def test_what_a_task_throws_reaches_the_caller(tmp_path):
    program = built(tmp_path / "crew")
    for n_threads in (1, 2, 4, 7):
        done = run(program, n_threads, 3000, "throw")
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("how", [(), ("throw",)])
def test_a_crew_has_no_race(tmp_path, how):
    compiler = needs_tool(os.environ.get("CXX", "c++"), "apt-get install g++")
    probe = subprocess.run(
        [compiler, "-print-file-name=libtsan.so"],
        text=True,
        capture_output=True,
    )
    if "/" not in probe.stdout:
        missing("ThreadSanitizer beside the compiler", "CXX=g++ chooses GCC")
    done = run(built(tmp_path / "crew", "-g", "-fsanitize=thread"), 4, 2000, *how)
    assert done.returncode == 0, done.stdout
