"""Training calculates by the standard, whatever another library has set."""

import numpy as np
import pytest

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.diagnostics.proofs import fingerprint
from cofire.engine.floats import standard_floats
from helpers import float_modes
from helpers.estimator_cases import data_for, small

pytestmark = pytest.mark.skipif(
    not float_modes.CAN_CHANGE, reason="it is known how on Linux and x86-64"
)


@pytest.mark.parametrize("bits", float_modes.MODES.values(), ids=float_modes.MODES)
def test_inside_all_is_standard_and_outside_as_it_was(bits):
    tiny = np.full(3, 1e-40, np.float32)
    with float_modes.changed(bits):
        outside = float_modes.mode()
        assert outside & bits == bits
        with standard_floats():
            assert float_modes.mode() & bits == 0
            assert (tiny * np.float32(1)).all()
        assert float_modes.mode() == outside
        with pytest.raises(ZeroDivisionError), standard_floats():
            raise ZeroDivisionError
        assert float_modes.mode() == outside


@pytest.mark.parametrize("of", [SparseMLPClassifier, SparseMLPRegressor])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("bits", float_modes.MODES.values(), ids=float_modes.MODES)
def test_a_mode_from_outside_changes_no_bit(bits, n_jobs, of):
    X, y = data_for(of, n=400)
    X[:, :6] *= np.float32(1e-38)  # some features, and their gradients, are that small
    assert (np.abs(X[X != 0]) < 1.1e-38).any()

    def trained():
        model = small(of, method="ctre_sim", batch_size=200, n_jobs=n_jobs).fit(X, y)
        if n_jobs > 1:
            model.partial_fit(X, y)
        return model

    model = trained()
    right = fingerprint(model, X)
    with float_modes.changed(bits):
        assert fingerprint(trained(), X) == right
        assert fingerprint(model, X) == right
