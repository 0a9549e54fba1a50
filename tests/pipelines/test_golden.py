"""Pipelines of earlier versions, ours and scikit-learn's: they load and predict."""

import json
import warnings

import numpy as np
import pytest

import cofire
from helpers.golden_pipelines import EXPECTED, FOLDER, PIPELINES


def test_there_is_a_file_for_each():
    assert {path.stem for path in FOLDER.glob("*.cofire")} == PIPELINES.keys()


@pytest.mark.parametrize("name", PIPELINES)
def test_it_predicts_as_it_did(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn may be another since
        pipeline = cofire.load(FOLDER / f"{name}.cofire")
    found = pipeline.predict_proba(PIPELINES[name][1])
    expected = json.loads(EXPECTED.read_text())[name]
    # The last bits are those of a machine and of a release.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
