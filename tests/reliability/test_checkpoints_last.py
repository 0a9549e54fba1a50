"""Checkpoints outlive signal 9 at any moment, and a disk that fails at any call."""

import json
import subprocess

import pytest

from helpers import processes
from helpers.reliability.checkpoint_cases import built_faults
from helpers.reliability.figures import report


def told(program, folder, *arguments):
    done = subprocess.run(
        processes.program(f"reliability.{program}", folder, *arguments),
        env=processes.environment(LD_PRELOAD=str(built_faults(folder))),
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_cut_off(folder, *counts):
    found, n = told("killed_fits", folder, *counts), sum(counts)
    assert found["right"] == n, found
    assert found["leftovers"] == 0, found
    # Most were cut off before their end, and most of these had a checkpoint by then.
    assert found["cut_off"] >= 0.8 * n, found
    assert found["resumed"] >= 0.4 * n, found
    return found


def test_fits_that_were_cut_off_go_on_to_the_same_end(tmp_path):
    check_cut_off(tmp_path, 4, 10, 4)


@pytest.mark.slow
def test_killed_fits_go_on_to_the_same_end(tmp_path):
    found = check_cut_off(tmp_path, 200, 50, 0)
    report(
        "fits with checkpoints, killed with signal 9",
        "200 at random + 50 inside a write: all resume, bit-identical, no file left",
        f"{found['right']} of 250 bit-identical ({found['cut_off']} cut off before "
        f"their end, {found['resumed']} of 250 went on from a checkpoint), "
        f"{found['leftovers']} temporary files left",
        met=found["right"] == 250 and found["leftovers"] == 0,
    )


@pytest.mark.slow
def test_interrupted_fits_go_on_to_the_same_end(tmp_path):
    found = check_cut_off(tmp_path, 0, 0, 100)
    report(
        "fits with checkpoints, ended by Ctrl-C or SIGTERM at 100 random moments",
        "checkpoint valid, ended within 1 s",
        f"{found['right']} of 100 went on to the same bits, the slowest ended after "
        f"{found['slowest']:.2f} s",
        met=found["right"] == 100 and found["slowest"] < 1,
    )


def check_failing(folder, step):
    found = told("failing_disk", folder, step)
    assert found["wrong"] == []
    assert found["faults"] >= 120 // step
    return found


def test_a_failing_disk_costs_no_checkpoint(tmp_path):
    check_failing(tmp_path, 7)


@pytest.mark.slow
def test_a_failing_disk_costs_no_checkpoint_at_any_call(tmp_path):
    found = check_failing(tmp_path, 1)
    report(
        "disk that fails (ENOSPC, EIO, EDQUOT, EROFS, short write) at call n, all n",
        "old checkpoint loads, clear error, estimator usable",
        f"{found['faults']} faults, {len(found['wrong'])} findings",
        met=not found["wrong"],
    )
