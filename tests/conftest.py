"""What all tests start from."""

import signal

import pytest
from hypothesis import settings

# An assertion that fails in a helper shows its values, as one in a test does.
pytest.register_assert_rewrite("helpers")

# A shell starts its background jobs deaf to Ctrl-C, and so are their children; tests
# that press it are to be heard there too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared and noisy: no example has to end in time.
settings.register_profile("cofire", deadline=None)
settings.load_profile("cofire")
