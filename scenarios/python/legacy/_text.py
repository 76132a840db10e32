"""Texts of options from values of Python."""

import functools
import numbers
import os
import re
import reprlib
from collections.abc import Mapping

from . import _legacy

# What plain numbers of an option are, by its kind, and the unit of their text; all other options
# take any number.
_KINDS = {
    "integer": ("a whole number", ""),
    "number": ("a number", ""),
    "fraction": ("a fraction", ""),
    "rate": ("a number of bit/s", "bps"),
    "time": ("a number of seconds", "s"),
    "bytes": ("a number of bytes", ""),
    "target": ("a number", ""),
}


@functools.cache
def scenario_rows():
    """Returns the rows of the table of options of scenarios, by all names of each."""
    rows = _legacy.scenario_options()
    return {
        **{row["key"].partition(".")[2]: row for row in rows},
        **{row["key"]: row for row in rows},
        **{row["flag"][2:].replace("-", "_"): row for row in rows},
    }


@functools.cache
def network_rows():
    """Returns the rows of the table of options of legacy-network, by name."""
    return {row["name"]: row for row in _legacy.network_options()}


def text(value, row=None):
    """Returns the text of an option's value: True becomes "on", plain numbers get the unit of the
    option's row, commas separate a list's items, and a dict of one item, as of a target, becomes
    "perplexity=120". Raises TypeError on what has no text."""
    if hasattr(value, "tolist"):  # NumPy's and PyTorch's numbers and arrays
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        if any(isinstance(item, (list, tuple)) for item in value):
            raise TypeError
        return ",".join(text(item, row) for item in value)
    if isinstance(value, bool):
        return _switch_text(value, row)
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Real):
        kind = row["kind"] if row else "text"
        # A fraction of 1.0 is no 1, which stands for 1 % as often as not.
        counts = kind in ("integer", "rate", "time", "bytes") and float(value).is_integer()
        whole = counts or isinstance(value, numbers.Integral)
        return (str(int(value)) if whole else repr(float(value))) + _KINDS.get(kind, ("", ""))[1]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, item),) = value.items()
        return f"{name}={text(item)}"
    raise TypeError


def _switch_text(value, row):
    """Returns the word for True or False that the option has."""
    words = re.split(r"[|\[\]]", row["allowed"]) if row else ["on", "off"]
    for word in ["on"] if value else ["off", "none"]:
        if word in words:
            return word
    raise TypeError


def named_text(name, value, row=None):
    """Returns the text of a named option's value, or raises one sentence that says what is
    allowed."""
    try:
        return text(value, row)
    except TypeError:
        raise TypeError(f"{name}: got {words(value)}; allowed: {_allowed(row)}") from None


def words(value):
    """Returns a value for messages, which is short and the same in every process."""
    plain = type(value).__module__ == "builtins" and type(value) is not object
    return reprlib.repr(value) if plain else f"an object of type {type(value).__name__}"


def _allowed(row):
    if row is None:
        return "a text, a number, True, False, a path, or a list of them"
    number = _KINDS.get(row["kind"], ("",))[0]
    words = [number] if number else []
    if row["allowed"] == "on|off":
        words.append("True, False")
    if row["allowed"] not in ("N", "X"):
        words.append(f"the text {row['allowed']}")
    return " or ".join(words)


def split_options(options, rows):
    """Returns (options, ns-3 attributes) of keywords, as texts; an option of None is not given.
    rows: the table of the options."""
    options = {name: value for name, value in options.items() if value is not None}
    attributes = options.pop("ns3", {})
    if not isinstance(attributes, Mapping):
        raise TypeError(f"ns3: got {words(attributes)}; allowed: a dict of attributes")
    return (
        {name: named_text(name, value, rows.get(name)) for name, value in options.items()},
        {name: _attribute_text(name, value) for name, value in attributes.items()},
    )


def _attribute_text(name, value):
    """Returns the text of an ns-3 attribute's value; ns-3 has words of its own for truth."""
    return str(value).lower() if isinstance(value, bool) else named_text(f"ns3: {name}", value)
