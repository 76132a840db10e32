"""Helpers of the Python module's tests, which are skipped without NumPy."""

import contextlib
import os
import signal
import sys
import threading
import unittest

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)


def main():
    """Runs the tests of the script; its arguments, programs to compare with, are in PROGRAMS."""
    unittest.main(argv=sys.argv[:1])


PROGRAMS = sys.argv[1:]


@contextlib.contextmanager
def interrupted_after(seconds):
    """Context manager that interrupts its body, as Ctrl-C does."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
