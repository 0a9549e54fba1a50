"""What the tests of searches share."""

import pytest

from cofire.search import screened


@pytest.fixture(scope="module")
def small_networks_are_screened():
    """Screen small networks too. By default they are searched exactly: see
    test_small_networks.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screened, "FEW_PRODUCTS", 0)
        yield
