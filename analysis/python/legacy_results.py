"""Reads the results of legacy: run directories and studies. Needs Python 3.10 or newer, and its
standard library only; uses pandas if it is installed.

    import legacy_results

    run = legacy_results.read_run("runs/legacy-scenario-20260102-030405")
    run.evaluations            # DataFrame, or a list of dicts where pandas is missing
    run.manifest["policies"]

    study = legacy_results.read_study("studies/bandwidth")      # the folder, or its study.sqlite
    study.points, study.curves, study.axes

`python3 legacy_results.py PATH` prints the content of a run directory or a study.

Tables. With pandas (or frames=True) a table is a DataFrame: counts are Int64 (seeds from 2^63 on
UInt64), and missing values are <NA> or NaN. With frames="arrays" it is a dict of NumPy arrays, and
missing counts are NaN. With frames=False it is a list of dicts, one for each row, and missing
values are None. COLUMNS gives type and unit of every column; docs/results-format.md says what each
means. In short, the rows of each table are:

  run.steps         a training step of one policy and seed: learning_rate, training_loss,
                    elements_sent, bytes (B), seconds of the step and of its parts (s, simulated),
                    participants, fresh
  run.evaluations   an evaluation: step, simulated_seconds (s), message_bytes and nic_bytes so far
                    (B), test_loss, test_METRIC for each of run.metrics: test_accuracy (fraction)
  run.layers        a layer over a training: elements, mean_parameter, elements_sent, message_bytes
                    (B)
  run.decisions     a policy's decision for a layer: step, decision (its number), layer, parameter,
                    error, budget, gain, time_estimate (s), reason; runs of older versions have none
  run.links         a directed link over a training: rate_bits_per_second (bit/s), bytes (B),
                    packets, drops, marks, max_queue_bytes (B), busy_seconds (s), utilisations
                    (fractions), usd_per_gb (USD/GB), usd, and with RoCEv2 at packet fidelity
                    pauses, paused_seconds (s), pause_root
  run.network       a finished training: fidelity, events, packets, fresh and memoised steps,
                    time-outs, and what RoCEv2 did: pauses, paused_share (fraction), cnps, naks,
                    resent, reordered, max_buffer_bytes (B), max_headroom_share (fraction); runs and
                    studies of older versions lack these
  run.doctor, run.fidelity, run.memory    only if the run has them
  run.rounds        a version of a federated run, or a round that made none: start, end (s), numbers
                    of tasks by their ends, bytes (B), staleness, usd, usd_hours, client_seconds
                    (s), client and times of the critical task (s; missing if no update was
                    counted), clients that hold residuals, their mean age (versions) and norm
                    (missing if none does)
  run.tasks         a task: client, base_version, its times (s; missing if it did not come to that),
                    end, local_steps, samples, message_bytes (B), staleness
  run.clients       a client: group, region, samples, labels, slowdown, rates (bit/s), tasks,
                    counted, busy_seconds (s), bytes (B), usd, predicted_seconds and
                    opening_seconds of it (s)
  study.points      a policy and seed on a network: id, policy, seed, the axes (AXIS as text,
                    AXIS_number in the axis's unit), training, state (pending, done, failed),
                    message, then the figures of done points: time_to_target (s; missing if the
                    target was not reached within simulated_seconds), final_metric (in the unit of
                    study.metric), bytes (B), seconds of a mean step (s), egress_usd (USD), ...
  study.curves      an evaluation of a done point: policy, seed, the axes, point, step,
                    simulated_seconds (s), test_METRIC for each of study.metrics, ...
  study.trainings   id, policy, seed, replay_refused, state, message, configuration (JSON)
"""

import csv
import io
import json
import pathlib
import sqlite3
import sys
from dataclasses import dataclass

try:
    import pandas
except ImportError:
    pandas = None

RUN_FORMATS = (1, 2)  # format 1 had only accuracy
STUDY_FORMAT = 3


class ResultsError(Exception):
    """A file has invalid content; the message names file, place and what is allowed."""


def _columns(text):
    """Returns {name: (type, unit, whether cells may be empty)} from lines `name type unit`; a type
    with a question mark allows empty cells."""
    words = (line.split() for line in text.strip().splitlines())
    return {word[0]: (_TYPES[word[1].removesuffix("?")], word[2] if len(word) > 2 else "",
                      word[1].endswith("?")) for word in words}


_TYPES = {"text": str, "count": int, "number": float, "truth": bool}

# Type and unit of each column, by file of the run directory and by table of the study. Evaluations
# and curves have the columns of their metrics as well (metric_columns); final_metric and
# best_metric of points are in the unit of the study's metric.
COLUMNS = {
    "steps.csv": _columns("""
        policy text
        seed count
        step count
        learning_rate number
        training_loss number
        elements_sent number
        message_bytes number B
        nic_bytes number B
        dense_nic_bytes number B
        step_seconds number s
        compute_seconds number s
        encode_seconds number s
        communication_seconds number s
        decode_seconds number s
        wait_seconds number s
        alpha_beta_seconds number s
        participants count
        simulated_seconds number s
        fresh truth
        hidden_seconds number? s
        gather_seconds number? s
        reduce_seconds number? s
        replica_seconds number? s
        tensor_seconds number? s
        pipe_seconds number? s
        context_seconds number? s
        expert_seconds number? s"""),
    "evaluations.csv": _columns("""
        policy text
        seed count
        step count
        simulated_seconds number s
        message_bytes number B
        nic_bytes number B
        test_loss number"""),
    "layers.csv": _columns("""
        policy text
        seed count
        layer text
        elements count
        mean_parameter number
        elements_sent number
        message_bytes number B"""),
    "decisions.csv": _columns("""
        policy text
        seed count
        step count
        decision count
        layer text
        parameter number
        error number
        budget number
        gain number fraction
        time_estimate number s
        reason text"""),
    "links.csv": _columns("""
        policy text
        seed count
        link text
        from text
        to text
        rate_bits_per_second number bit/s
        bytes count B
        packets count
        drops count
        marks count
        max_queue_bytes count B
        busy_seconds number s
        mean_utilisation number fraction
        peak_utilisation number fraction
        usd_per_gb number USD/GB
        usd number USD
        pauses count
        paused_seconds number s
        pause_root text"""),
    "network.csv": _columns("""
        policy text
        seed count
        fidelity text
        events count
        packets count
        fresh_steps count
        memoised_steps count
        retransmit_timeouts count
        pauses count
        paused_share number fraction
        cnps count
        naks count
        resent count
        reordered count
        max_buffer_bytes count B
        max_headroom_share number fraction"""),
    "doctor.csv": _columns("""
        policy text
        seed count
        step count
        fidelity text
        remedy text
        bound text
        change text
        step_seconds number s
        gain number fraction
        verdict truth"""),
    "fidelity.csv": _columns("""
        policy text
        seed count
        step count
        flow_seconds number s
        packet_seconds number s
        difference number fraction"""),
    "memory.csv": _columns("""
        policy text
        stage count
        weights_bytes number B
        gradients_bytes number B
        optimizer_bytes number B
        gathered_bytes number B
        activations_bytes number B
        residuals_bytes number B
        total_bytes number B
        device_bytes number B"""),
    "rounds.csv": _columns("""
        policy text
        seed count
        version count
        start number s
        end number s
        wanted count
        started count
        counted count
        late count
        lost count
        interrupted count
        cancelled count
        stale count
        unavailable count
        down_bytes count B
        up_bytes count B
        staleness_mean number
        staleness_max count
        usd number USD
        usd_hours number USD
        extended truth
        selected_loss number?
        client_seconds number s
        critical_client count?
        critical_dispatched number? s
        critical_downloaded number? s
        critical_worked number? s
        critical_uploaded number? s
        residuals count?
        residual_age number?
        residual_norm number?"""),
    "tasks.csv": _columns("""
        policy text
        seed count
        id count
        client count
        base_version count
        dispatched number s
        downloaded number? s
        worked number? s
        uploaded number? s
        ended number s
        end text
        local_steps count
        samples count
        message_bytes count B
        staleness count?"""),
    "clients.csv": _columns("""
        policy text
        seed count
        client count
        group text
        region text
        samples count
        labels count
        slowdown number
        down count bit/s
        up count bit/s
        tasks count
        counted count
        busy_seconds number s
        up_bytes count B
        down_bytes count B
        usd number USD
        last_staleness count?
        expected_steps count
        predicted_seconds number s
        opening_seconds number? s"""),
    "trainings": _columns("""
        id text
        policy text
        seed count
        replay_refused text
        state text
        message text
        configuration text"""),
    "points": _columns("""
        id count
        policy text
        seed count
        training text
        state text
        message text
        workers_trained count
        steps count
        time_to_target number s
        steps_to_target count
        simulated_seconds number s
        final_metric number
        best_metric number
        message_bytes number B
        nic_bytes number B
        element_ratio number
        payload_ratio number
        traffic_ratio number
        step_seconds number s
        compute_seconds number s
        encode_seconds number s
        communication_seconds number s
        decode_seconds number s
        wait_seconds number s
        alpha_beta_step_seconds number s
        egress_usd number USD
        decisions count
        fidelity_used text
        events count
        packets count
        fresh_steps count
        memoised_steps count
        retransmit_timeouts count
        busiest_link text
        busiest_utilisation number fraction
        pauses count
        paused_share number fraction
        cnps count
        naks count
        resent count
        reordered count
        max_buffer_bytes count B
        max_headroom_share number fraction"""),
    "curves": _columns("""
        point count
        step count
        simulated_seconds number s
        message_bytes number B
        nic_bytes number B
        test_loss number"""),
}


@dataclass
class Metric:
    """A measure of a model: its name in columns, its title for people, which way it is "better"
    ("higher" or "lower"), and the unit of its values ("fraction" or "")."""

    name: str
    title: str
    better: str
    unit: str


@dataclass
class Target:
    """A value of a metric that a training should reach."""

    metric: str
    value: float


ACCURACY = Metric("accuracy", "accuracy", "higher", "fraction")


# Columns that files of earlier versions lack, and therefore their tables, too.
ADDED_COLUMNS = ("residuals", "residual_age", "residual_norm", "opening_seconds",
                 "pauses", "paused_seconds", "pause_root", "paused_share", "cnps", "naks", "resent",
                 "reordered", "max_buffer_bytes", "max_headroom_share")


def metric_columns(metrics):
    """Returns type and unit of the columns test_METRIC, as in COLUMNS."""
    return {f"test_{metric.name}": (float, metric.unit) for metric in metrics}


@dataclass
class Axis:
    """A dimension of a study's grid: texts of its values in order, and their numbers in `unit`
    (None for names)."""

    name: str
    unit: str
    values: list
    numbers: list | None


class Summary(dict):
    """The content of summary.json; at a prompt, its verdict."""

    def __repr__(self):
        policies = ", ".join(policy["name"] for policy in self.get("policies", []))
        verdict = f": {self['verdict']}" if self.get("verdict") else ""
        return f"Summary({policies}{verdict})"


@dataclass(repr=False)
class Run:
    """A run directory. Tables are as in the module's text; summary is None until one is written."""

    path: pathlib.Path
    manifest: dict
    metrics: list  # Metric of each column test_METRIC; [] if nothing was trained
    target: Target | None
    summary: Summary | None
    steps: object
    evaluations: object
    layers: object
    decisions: object
    links: object
    network: object
    memory: object
    doctor: object
    fidelity: object
    rounds: object
    tasks: object
    clients: object
    notes: list  # parts that an interrupted run lacks
    frames: object = None  # read_run's argument
    text: str = ""  # the tables that the program printed, if known

    def __repr__(self):
        policies = ", ".join(self.manifest.get("policies", []))
        place = self.manifest.get("configuration", {}).get("network", {}).get("topology")
        where = f" on {place}" if place else ""
        finished = self.manifest.get("finished_file")
        state = ", not finished" if finished and not (self.path / finished).exists() else ""
        return f"Run({str(self.path)!r}: {policies}; {self.manifest.get('workers')} workers" \
               f"{where}, {_counted(len(self.manifest.get('seeds', [])), 'seed')}{state})"

    def plot(self, axes=None):
        """Draws the run's metric against simulated time, as metric-time.svg does. Returns
        matplotlib's axes (`axes`, or new ones), or without matplotlib that picture, which notebooks
        show. Needs the module legacy."""
        try:
            from legacy import _plot
        except ImportError as error:
            raise ResultsError(f"plot: needs the module legacy: {error}") from error
        return _plot.plot(self.path, axes)

    def _repr_svg_(self):
        """Returns the picture that answers first, which notebooks show; None if none was drawn."""
        for name in ("metric-time.svg", "step-split.svg"):
            if (self.path / name).exists():
                return (self.path / name).read_text(encoding="utf-8")
        return None

    @property
    def curves(self):
        """Returns {(policy, seed): table of its evaluations}, in the order of the file."""
        keys = list(zip(_column(self.evaluations, "policy"),
                        map(int, _column(self.evaluations, "seed"))))
        return {key: _select(self.evaluations, [other == key for other in keys])
                for key in dict.fromkeys(keys)}

    @property
    def networks(self):
        """Returns {name: run on that network} of a run that was timed on several networks, its own
        first; {} for other runs."""
        return {entry["name"]: self if entry["directory"] == "." else
                read_run(self.path / entry["directory"], self.frames)
                for entry in self.manifest.get("networks", [])}


@dataclass(repr=False)
class Study:
    """A study's database. `metric` is that of final_metric and best_metric: the target's, else the
    first of `metrics`; None if nothing is trained. Tables are as in the module's text."""

    path: pathlib.Path
    name: str
    title: str
    definition: str
    baseline: str
    metrics: list
    metric: Metric | None
    target: Target | None
    policies: list
    seeds: list
    axes: list
    trainings: object
    points: object
    curves: object

    def __repr__(self):
        return f"Study({str(self.path)!r}: {', '.join(self.policies)})"


def read_run(path, frames=None):
    """Reads the run directory `path`. frames: True for DataFrames, "arrays" for dicts of NumPy
    arrays, False for lists of dicts, None for DataFrames if pandas is installed, else lists.

    Accepts interrupted runs, with missing files or an unfinished last line; `notes` names both.
    Raises ResultsError on any other mistake.
    """
    path = pathlib.Path(path)
    manifest = _read_json(path / "manifest.json", "a directory with a manifest.json")
    if not isinstance(manifest, dict) or manifest.get("format") not in RUN_FORMATS:
        allowed = ", ".join(map(str, RUN_FORMATS))
        raise ResultsError(f"{path / 'manifest.json'}: format: allowed: {allowed}")
    metrics, target = _metrics_of(manifest, path / "manifest.json")
    notes = []
    tables = {}
    optional = ("decisions", "doctor", "memory", "fidelity", "rounds", "tasks", "clients")
    for name in ("steps", "evaluations", "layers", "links", "network", *optional):
        file = path / f"{name}.csv"
        if not file.exists() and name not in optional:
            notes.append(f"{file.name} is missing")
        types = COLUMNS[file.name]
        if name == "evaluations":
            types = types | metric_columns(metrics)
        tables[name] = _table(_read_csv(file, types, notes), types, frames)
    summary = path / "summary.json"
    return Run(path=path, manifest=manifest, metrics=metrics, target=target, notes=notes,
               frames=frames, **tables,
               summary=Summary(_read_json(summary, "a summary")) if summary.exists() else None)


def read_study(path, frames=None):
    """Reads the study in folder `path`, or the database `path`. frames: as in read_run.

    May be called while the study runs. Raises ResultsError if the file is no study's database.
    """
    path = pathlib.Path(path)
    file = path / "study.sqlite" if path.is_dir() else path
    if not file.is_file():
        raise ResultsError(f"{file}: allowed: a study's folder or its study.sqlite")
    try:
        # The file is not opened read-only, so that SQLite may roll back what a killed writer left;
        # if it may not write, it only reads.
        database = sqlite3.connect(file.resolve().as_uri() + "?mode=rw", uri=True, timeout=60)
        try:
            return _read_database(database, file, frames)
        finally:
            database.close()
    except sqlite3.Error as error:
        raise ResultsError(f"{file}: {error}") from error


def _read_database(database, file, frames):
    database.row_factory = sqlite3.Row
    database.isolation_level = None
    database.execute("BEGIN")  # reads one state of all tables
    head = database.execute("SELECT * FROM study").fetchone()
    if head is None or head["format"] != STUDY_FORMAT:
        raise ResultsError(f"{file}: format: allowed: {STUDY_FORMAT}")
    metrics = [Metric(**metric) for metric in json.loads(head["metrics"])]
    target = None if head["target"] is None else Target(head["target_metric"], head["target"])
    shown = [metric for metric in metrics if target is None or metric.name == target.metric]
    axes = {}
    for row in database.execute("SELECT axis, unit, value, number FROM axes ORDER BY rowid"):
        axis = axes.setdefault(row["axis"], Axis(row["axis"], row["unit"], [], []))
        axis.values.append(row["value"])
        axis.numbers.append(row["number"])
    axis_columns = {}
    for axis in axes.values():
        axis_columns[axis.name] = (str, "")
        if None in axis.numbers:
            axis.numbers = None
        else:
            axis_columns[axis.name + "_number"] = (float, axis.unit)

    def table(query, columns):
        cursor = database.execute(query)
        cursor.row_factory = None  # tuples: a study may have a million evaluations
        names = [column[0] for column in cursor.description]
        types = {name: columns[name] for name in names if name in columns}
        return _table((names, cursor.fetchall()), types, frames)

    return Study(
        path=file, name=head["name"], title=head["title"], definition=head["definition"],
        baseline=head["baseline"], metrics=metrics, metric=shown[0] if shown else None,
        target=target,
        policies=json.loads(head["policies"]), seeds=json.loads(head["seeds"]),
        axes=list(axes.values()),
        trainings=table("SELECT * FROM trainings ORDER BY rowid", COLUMNS["trainings"]),
        points=table("SELECT * FROM points ORDER BY id", COLUMNS["points"] | axis_columns),
        curves=table("SELECT * FROM point_curves ORDER BY point, step",
                     COLUMNS["points"] | COLUMNS["curves"] | metric_columns(metrics)
                     | axis_columns))


def _read_json(file, allowed):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"{file}: {error.strerror}; allowed: {allowed}") from error
    except ValueError as error:
        raise ResultsError(f"{file}: not JSON: {error}") from error


def _metrics_of(manifest, file):
    """Returns the metrics and the target of a run."""
    if manifest["format"] == 1:
        value = manifest.get("target_accuracy")
        return [ACCURACY], None if value is None else Target(ACCURACY.name, value)
    try:
        target = manifest["target"]
        return ([Metric(**metric) for metric in manifest["metrics"]],
                None if target is None else Target(**target))
    except (KeyError, TypeError) as error:
        raise ResultsError(f"{file}: metrics, target: {error}") from error


def _read_csv(file, types, notes):
    """Returns (names, rows) of one file; columns that are not in `types` stay texts."""
    if not file.exists():
        return list(types), []
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}: {error}") from error
    if text and not text.endswith("\n"):  # its last number may lack digits
        text = text[:text.rfind("\n") + 1]
        notes.append(f"{file.name}: the last line is unfinished and ignored")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = next(reader, list(types))
        missing = [name for name in types if name not in names and name not in ADDED_COLUMNS]
        if missing:
            raise ResultsError(f"{file}:1: allowed: a header line with '{missing[0]}'")
        return names, [_convert(file, reader.line_num, names, types, row) for row in reader]
    except csv.Error as error:
        raise ResultsError(f"{file}:{reader.line_num}: {error}") from error


def _convert(file, line, names, types, row):
    if len(row) != len(names):
        raise ResultsError(f"{file}:{line}: got {len(row)} fields; allowed: {len(names)}")
    values = []
    for name, text in zip(names, row):
        kind = types.get(name, (str, ""))[0]
        try:
            if not text and types.get(name, ("", "", False))[2:] == (True,):
                values.append(None)
            else:
                values.append({"0": False, "1": True}[text] if kind is bool else kind(text))
        except (KeyError, ValueError):
            raise ResultsError(f"{file}:{line}: column '{name}': got '{text}'; allowed: "
                               f"{'0, 1' if kind is bool else 'a number'}") from None
    return values


def _table(data, types, frames):
    names, rows = data
    if frames is None:
        frames = pandas is not None
    if not frames:
        return [dict(zip(names, row)) for row in rows]
    columns = zip(*rows) if rows else ([] for _ in names)
    if frames == "arrays":
        return {name: _array(values, types.get(name, (str, ""))[0])
                for name, values in zip(names, columns)}
    if pandas is None:
        raise ResultsError("frames=True: pandas is not installed; allowed: None, False, 'arrays'")
    frame = {}
    for name, values in zip(names, map(list, columns)):
        kind = types.get(name, (str, ""))[0]
        if kind is int:  # a nullable type
            large = any(value is not None and value >= 2**63 for value in values)
            dtype = "UInt64" if large else "Int64"
            frame[name] = pandas.array(values, dtype=dtype)
        else:
            frame[name] = pandas.Series(values,
                                        dtype={float: "float64", bool: "bool", str: "object"}[kind])
    return pandas.DataFrame(frame, columns=names)


def _array(values, kind):
    import numpy

    if kind is str:
        return numpy.array(values, dtype=object)
    if kind is int and None not in values:
        large = any(value >= 2**63 for value in values)
        return numpy.array(values, dtype="uint64" if large else "int64")
    return numpy.array(values, dtype=bool if kind is bool else float)  # None becomes NaN


def _column(table, name):
    """Returns a column of a table of any form."""
    return [row[name] for row in table] if isinstance(table, list) else table[name]


def _select(table, chosen):
    """Returns the rows of a table of any form that are marked in `chosen`."""
    if isinstance(table, list):
        return [row for row, mark in zip(table, chosen) if mark]
    if isinstance(table, dict):
        return {name: values[chosen] for name, values in table.items()}
    return table[chosen]


def _counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _count(rows, key):
    counts = {}
    for row in rows:
        counts[row[key]] = counts.get(row[key], 0) + 1
    return counts


def _describe_run(run):
    manifest = run.manifest
    yield f"run {run.path}: {manifest.get('program')}, {manifest.get('workers')} workers, " \
          f"{manifest.get('parameters')} parameters, fidelity {manifest.get('fidelity')}"
    finished = {(row["policy"], row["seed"]) for row in run.network}
    last = {(row["policy"], row["seed"]): row for row in run.evaluations}
    for policy in manifest.get("policies", []):
        for seed in manifest.get("seeds", []):
            row = last.get((policy, seed))
            state = "finished" if (policy, seed) in finished else "not finished"
            values = ", ".join(f"{metric.title} {row['test_' + metric.name]:.4f}"
                               for metric in run.metrics) if row else ""
            result = f"{values} after {row['step']} steps, " \
                     f"{row['simulated_seconds']:.6g} s" if row else "no evaluation"
            yield f"  {policy}, seed {seed}: {state}; {result}"
    yield from (f"  note: {note}" for note in run.notes)


def _describe_study(study):
    yield f"study {study.path}: {study.name}: {study.title}"
    states = _count(study.points, "state")
    counted = ", ".join(f"{states.get(state, 0)} {state}"
                        for state in ("done", "pending", "failed"))
    yield f"  {len(study.points)} points ({counted}), {len(study.trainings)} trainings, " \
          f"seeds {', '.join(map(str, study.seeds))}"
    for axis in study.axes:
        unit = f" ({axis.unit})" if axis.unit else ""
        yield f"  axis {axis.name}{unit}: {', '.join(axis.values)}"
    target = "no target" if study.target is None else \
        f"target {study.metric.title} {study.target.value:g}"
    yield f"  {target}, baseline {study.baseline}"
    for policy in study.policies:
        done = [row for row in study.points if row["policy"] == policy and row["state"] == "done"]
        reached = sum(row["time_to_target"] is not None for row in done)
        yield f"  {policy}: {len(done)} done, {reached} reached the target"
    for row in study.points + study.trainings:
        if row["state"] == "failed":
            yield f"  failed: {'training' if 'configuration' in row else 'point'} {row['id']}: " \
                  f"{row['message']}"


def describe(path):
    """Describes the content of a run directory or a study, as lines of text."""
    path = pathlib.Path(path)
    if (path / "manifest.json").is_file():
        return list(_describe_run(read_run(path, frames=False)))
    if path.is_file() or (path / "study.sqlite").is_file():
        return list(_describe_study(read_study(path, frames=False)))
    raise ResultsError(
        f"{path}: allowed: a run directory (manifest.json), a study's folder or its study.sqlite")


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: legacy_results.py PATH    "
              "(a run directory, a study's folder or its study.sqlite)",
              file=sys.stderr)
        return 2
    try:
        print("\n".join(describe(arguments[0])))
    except ResultsError as error:
        print(f"legacy_results.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
