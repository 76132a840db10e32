"""Texts of options from values of Python."""

import numbers
import os

# Units of options whose plain numbers can only mean these; all others have no unit, or bytes.
UNITS = {"bandwidth": "bps", "delay": "s"}


def text(value, unit=""):
    """Returns the text of one value: True becomes "on", numbers get the unit, commas separate a
    list's items, and a dict of one item, as of a target, becomes "perplexity=120"."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return f"{int(value)}{unit}"
    if isinstance(value, numbers.Real):
        return f"{float(value)!r}{unit}"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return ",".join(text(item, unit) for item in value)
    if isinstance(value, dict) and len(value) == 1:
        ((name, item),) = value.items()
        return f"{name}={text(item)}"
    raise TypeError(f"got {value!r}; allowed: texts, numbers, True, False, paths, lists of them")


def split_options(options):
    """Returns (options, ns-3 attributes) of keywords, as texts; an option of None is not given."""
    options = {name: value for name, value in options.items() if value is not None}
    attributes = options.pop("ns3", {})
    return (
        {name: text(value, UNITS.get(name, "")) for name, value in options.items()},
        {name: text(value) for name, value in attributes.items()},
    )
