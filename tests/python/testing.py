"""What the tests of the Python module share. Without NumPy they are skipped."""

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
    """What is done in it is interrupted as by Ctrl-C."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
