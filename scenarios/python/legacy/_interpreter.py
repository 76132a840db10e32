"""Names another Python than that of the build as the cause why the package cannot be imported."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import sys

_PACKAGE = pathlib.Path(__file__).resolve().parent


def check():
    """Raises ImportError where this Python cannot load the compiled part, or has no NumPy."""
    names = sorted(path.name for path in _PACKAGE.glob("_legacy.*.so"))
    if not names:
        raise ImportError("legacy: its compiled part is missing; type: ./waf python")
    loads = {"_legacy" + suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES} & set(names)
    if loads and importlib.util.find_spec("numpy") is not None:
        return
    found = re.search(r"cpython-(\d)(\d+)", names[0])
    version = f"{found[1]}.{found[2]}" if found else "3"
    lacks = ", which has no NumPy" if loads else ""
    raise ImportError(
        f"legacy: built for Python {version}, and this is Python {sys.version.split()[0]} "
        f"({sys.executable}){lacks}; type: {_remedy(version)}"
    )


def _remedy(version):
    """Returns what to type: a call of the system's Python of that version."""
    python = f"/usr/bin/python{version}"
    if os.path.realpath(python) == os.path.realpath(sys.executable or "."):
        return "apt install python3-numpy"
    if not os.path.exists(python):
        python = os.path.basename(python)
    return f"PYTHONPATH={shlex.quote(str(_PACKAGE.parent))} {python}"
