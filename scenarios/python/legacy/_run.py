"""Runs of scenarios in this process, and results of earlier runs."""

import json
import os
import pathlib
import sys
from collections.abc import Mapping

from . import _legacy
from ._text import named_text, scenario_rows, split_options, words


def run(scenario=None, *, preset="", progress=True, **options):
    """Trains, compresses and times a comparison as legacy-scenario does, and returns its results.

    scenario: a dict of sections ({"network": {"topology": "star"}}) or of options, a YAML text, the
    path of a YAML file, or a list of these, of which later ones override earlier ones. options:
    those of `legacy-scenario --help`, with "_" for "-"; they override the scenario. As in that
    program, they start from the default run without a scenario, and from the plain defaults with
    one. ns3: a dict of ns-3 attributes. progress: True to show the progress on sys.stderr.

    Ctrl-C ends the run after its step: it raises KeyboardInterrupt, read() reads the results so
    far, and resume() continues. Other Python threads run meanwhile.
    """
    parts, call = _parts(scenario, preset, options)
    return _results(_legacy.run(parts, f"legacy.run({call})", _log(progress)))


def resume(run, *, progress=True, **options):
    """Continues with an interrupted run() from its last checkpoint, and returns its results, which
    are those of an undisturbed run.

    run: the run directory, or what read() returned. options: those that may differ from the run's
    own, as `threads`; docs/checkpoints.md names them.
    """
    path = os.fspath(getattr(run, "path", run))
    parts, call = _parts(None, "", options)
    call = f"legacy.resume({path!r}, {call})"
    return _results(_legacy.resume(path, parts, call, _log(progress)))


def replay(run, *, progress=False, **options):
    """Times a recorded run (record=True), or a trace of your own training, on another network,
    without training.

    run: the results of run(), a run directory, or the file of a trace. options: those of
    legacy-replay.
    """
    path = os.fspath(getattr(run, "path", run))
    parts, call = _parts(None, "", options)
    call = f"legacy.replay({path!r}, {call})"
    return _results(_legacy.replay(path, parts, call, _log(progress)))


def read(path, frames=None):
    """Returns the results in a run directory, or those of a study in its folder or study.sqlite.

    frames: True for DataFrames, "arrays" for dicts of NumPy arrays, False for lists of dicts; None:
    DataFrames where pandas is installed, else arrays.
    """
    from . import legacy_results  # imports pandas

    if frames is None and legacy_results.pandas is None:
        frames = "arrays"
    path = pathlib.Path(path)
    is_study = path.is_file() or (path / "study.sqlite").is_file()
    try:
        return (
            legacy_results.read_study(path, frames)
            if is_study
            else legacy_results.read_run(path, frames)
        )
    except legacy_results.ResultsError as error:
        raise _legacy.Error(str(error)) from error


class Scenario(str):
    """The YAML text of a scenario, with all options; print() shows it."""

    def __repr__(self):
        values = dict(line.strip().split(": ", 1) for line in self.splitlines() if ": " in line)
        shape = values.get("layers", '""').strip("\"'")
        what = f"shape {shape}" if shape else f"{values.get('model')} on {values.get('dataset')}"
        return (
            f"Scenario({what}, {values.get('workers')} workers, {values.get('topology')} at "
            f"{values.get('bandwidth')}, {values.get('fidelity')}; print() shows all)"
        )


def config(scenario=None, *, preset="", **options):
    """Returns all options, with their values, of a run() with these arguments, as YAML text that
    run() accepts."""
    return Scenario(_legacy.scenario_text(_parts(scenario, preset, options)[0]))


def options():
    """Returns all options of run(), as dicts: name, key, kind, default, allowed, help. Kinds are
    text, integer, number, fraction, rate, time, bytes and target."""
    return [
        {"name": option.pop("flag")[2:].replace("-", "_"), **option}
        for option in _legacy.scenario_options()
    ]


def _parts(scenario, preset, options):
    """Returns the parts from which the compiled part makes a scenario, and the call as text."""
    scenarios = (
        scenario if isinstance(scenario, (list, tuple)) else [] if scenario is None else [scenario]
    )
    call = ", ".join(
        [
            *(repr(one) for one in scenarios),
            *([f"preset={preset!r}"] if preset else []),
            *(f"{name}={value!r}" for name, value in options.items()),
        ]
    )
    files = []
    flat = {}
    for one in scenarios:
        if isinstance(one, Mapping):
            sections = {
                name: _section(name, value) if isinstance(value, Mapping) else value
                for name, value in one.items()
                if isinstance(value, Mapping) or name in ("include", "preset")
            }
            flat.update({name: value for name, value in one.items() if name not in sections})
            files.append(("scenario", json.dumps(sections, default=str)))  # JSON is YAML, too
        elif isinstance(one, str) and ("\n" in one or ": " in one):
            files.append(("scenario", one))
        elif isinstance(one, (str, os.PathLike)):
            files.append((os.fspath(one), None))
        else:
            raise TypeError(
                f"scenario: got {words(one)}; allowed: a dict, a YAML text, the path of a YAML "
                "file, or a list of them"
            )
    texts, attributes = split_options({**flat, **options}, scenario_rows())
    if not isinstance(preset, str):
        raise TypeError(f"preset: got {words(preset)}; allowed: a name")
    return _legacy.Parts(files, preset, list(texts.items()), attributes), call


def _section(section, values):
    """Returns a section of a scenario with its options' values as texts."""
    rows = scenario_rows()
    texts = {}
    for name, value in values.items():
        key = f"{section}.{name}"
        plain = key not in rows or isinstance(value, Mapping)
        if plain or value is not None:
            texts[name] = value if plain else named_text(key, value, rows[key])
    return texts


def _log(progress):
    if not progress:
        return None
    # A terminal rewrites a line; notebooks have a stream object of their own.
    if sys.stderr is sys.__stderr__ and sys.stderr.isatty():
        return True
    return lambda text: (sys.stderr.write(text), sys.stderr.flush())


def _results(done):
    path, text = done
    results = read(path)
    results.text = text
    return results
