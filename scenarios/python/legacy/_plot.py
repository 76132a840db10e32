"""The picture of a run: its metric against simulated time, with the curves, the styles and the
words of the picture that programs draw."""

import os
import pathlib
import textwrap

from . import _legacy

NAME = "metric-time.svg"

# What matplotlib calls the marks and the dashes of the table of styles (analysis/policy_style.h).
_MARKS = {
    "circle": ("o", "full"),
    "square": ("s", "full"),
    "triangle": ("^", "full"),
    "triangle-down": ("v", "full"),
    "diamond": ("D", "full"),
    "pentagon": ("p", "full"),
    "open-square": ("s", "none"),
    "open-circle": ("o", "none"),
}
_DASHES = {1: "-", 2: "--", 3: ":", 4: "-.", 5: (0, (6, 2, 1, 2, 1, 2))}


class Picture:
    """The SVG that a run wrote; a notebook shows it."""

    def __init__(self, path):
        self.path = path

    def __repr__(self):
        return f"Picture({str(self.path)!r})"

    def _repr_svg_(self):
        return self.path.read_text(encoding="utf-8")


def plot(path, axes=None):
    """Draws the run in the folder `path`, and returns matplotlib's axes, or without matplotlib the
    Picture that the run wrote."""
    drawn = _legacy.plot_of(os.fspath(path))
    if drawn is None:
        raise _legacy.Error(f"plot: got '{path}'; allowed: a run with evaluations")
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            return _written(pathlib.Path(path) / NAME)
        _, axes = pyplot.subplots(figsize=(9.6, 5.4), layout="constrained")
    for curve in drawn["curves"]:
        _draw_curve(axes, curve)
    if drawn["target"] is not None:
        axes.axhline(drawn["target"], color="#666666", linestyle=":", label=drawn["target_text"])
    _label(axes, drawn)
    return axes


def _written(file):
    if file.exists():
        return Picture(file)
    raise _legacy.Error(
        f"plot: got 'no {file}'; allowed: a run with pictures=True, or matplotlib (type: apt "
        "install python3-matplotlib)"
    )


def _draw_curve(axes, curve):
    if curve["band"]:
        axes.fill_between(
            curve["x"], curve["low"], curve["high"], color=curve["colour"], alpha=0.15, linewidth=0
        )
    marker, fill = _MARKS[curve["mark"]]
    axes.plot(
        curve["x"],
        curve["value"],
        color=curve["colour"],
        linestyle=_DASHES[curve["dashes"]],
        marker=marker,
        fillstyle=fill,
        markersize=5,
        markevery=curve["mark_every"],
        label=curve["policy"],
    )


def _label(axes, drawn):
    below = drawn["conditions"]
    if drawn["others"]:
        below += "; not drawn: " + ", ".join(drawn["others"])
    axes.set_title("\n".join([drawn["title"], *textwrap.wrap(below, 100)]), loc="left", fontsize=10)
    axes.set_xlabel(drawn["x"]["label"])
    axes.set_ylabel(drawn["y"]["label"])
    if drawn["x"]["logarithmic"]:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(type(axes.xaxis.get_major_locator())(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(type(axes.xaxis.get_minor_locator())(subs=()))
    else:
        axes.set_xlim(left=0)
    if drawn["y"]["logarithmic"]:
        axes.set_yscale("log")
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, handlelength=3)
