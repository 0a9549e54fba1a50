"""What all tests start from."""

import signal

# A shell starts its background jobs deaf to Ctrl-C, and so are their children; tests
# that press it are to be heard there too.
signal.signal(signal.SIGINT, signal.default_int_handler)
