"""Checks the Python reader on files that the C++ writers wrote.

Usage: legacy_results_test.py WRITE_EXAMPLE
"""

import csv
import json
import math
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

try:
    import numpy
except ImportError:
    numpy = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "analysis" / "python"))
sys.dont_write_bytecode = True
import legacy_results  # noqa: E402

WRITE_EXAMPLE = ""
POLICY = 'top,k "1%"'
FEDERATED = ("rounds.csv", "tasks.csv", "clients.csv")  # the manifest has no units of their columns
FILES = [name for name in legacy_results.COLUMNS if name.endswith(".csv")]


def read_texts(path):
    """Returns (names, rows of texts) without conversion, as the oracle."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


class ReaderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run([WRITE_EXAMPLE, str(self.folder)], check=True)

    def expect_error(self, text, call, *arguments):
        with self.assertRaises(legacy_results.ResultsError) as caught:
            call(*arguments)
        self.assertIn(text, str(caught.exception))

    def change(self, file, old, new):
        path = self.folder / file
        text = path.read_bytes().decode()
        self.assertIn(old, text)
        path.write_bytes(text.replace(old, new, 1).encode())

    def sql(self, statement):
        with sqlite3.connect(self.folder / "study" / "study.sqlite") as database:
            database.execute(statement)
        database.close()


METRICS = [legacy_results.ACCURACY,
           legacy_results.Metric("perplexity", '"perplexity", é', "lower", "")]


def columns_of(table):
    """Returns type and unit of the columns of a file or table, with those of the metrics."""
    own = table in ("evaluations.csv", "curves")
    return legacy_results.COLUMNS[table] | (legacy_results.metric_columns(METRICS) if own else {})


class RunTest(ReaderTest):
    def test_every_column_is_known_with_type_and_unit(self):
        units = json.loads((self.folder / "run" / "manifest.json").read_text())["units"]
        for file in FILES:
            names, rows = read_texts(self.folder / "run" / file)
            columns = columns_of(file)
            self.assertEqual(list(columns), names)
            for name in names if file not in FEDERATED else ():
                self.assertEqual(columns[name][1], units.get(name, ""), name)

    def test_values_are_those_of_the_files(self):
        run = legacy_results.read_run(self.folder / "run", frames=False)
        for file in FILES:
            names, rows = read_texts(self.folder / "run" / file)
            table = getattr(run, file.removesuffix(".csv"))
            self.assertEqual(len(table), len(rows))
            for row, texts in zip(table, rows):
                self.assertEqual(list(row), names)
                for name, text in zip(names, texts):
                    kind = columns_of(file)[name][0]
                    self.assertIs(type(row[name]), kind, name)
                    self.assertEqual(row[name], text == "1" if kind is bool else kind(text), name)
        self.assertEqual(run.steps[0]["policy"], POLICY)
        self.assertEqual(run.steps[0]["seed"], 2**64 - 1)
        self.assertEqual(run.notes, [])
        self.assertIsNone(run.summary)
        self.assertEqual(run.manifest["workers"], 4)
        self.assertEqual(run.metrics, METRICS)
        self.assertEqual(run.target, legacy_results.Target("perplexity", 120))

    def test_a_run_of_the_first_format_has_accuracy_alone(self):
        file = self.folder / "run" / "manifest.json"
        manifest = json.loads(file.read_text())
        del manifest["metrics"], manifest["target"]
        manifest["format"] = 1
        for target in (None, 0.8):
            manifest["target_accuracy"] = target
            file.write_text(json.dumps(manifest))
            run = legacy_results.read_run(self.folder / "run", frames=False)
            self.assertEqual(run.metrics, [legacy_results.ACCURACY])
            self.assertEqual(run.target, target and legacy_results.Target("accuracy", target))
            self.assertIs(type(run.evaluations[0]["test_accuracy"]), float)

    def test_cells_of_tasks_may_be_empty(self):
        names, rows = read_texts(self.folder / "run" / "tasks.csv")
        cells = dict(zip(names, rows[0])) | {"worked": "", "uploaded": "", "staleness": ""}
        with open(self.folder / "run" / "tasks.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerow(cells)
        task = legacy_results.read_run(self.folder / "run", frames=False).tasks[0]
        self.assertEqual([task[name] for name in ("worked", "uploaded", "staleness")], [None] * 3)
        self.assertEqual(task["dispatched"], float(cells["dispatched"]))
        self.change("run/tasks.csv", cells["dispatched"], "")
        self.expect_error("column 'dispatched': got ''", legacy_results.read_run,
                          self.folder / "run")

    def test_curves_are_the_evaluations_of_each_training(self):
        run = legacy_results.read_run(self.folder / "run", frames=False)
        self.assertEqual([row for curve in run.curves.values() for row in curve], run.evaluations)
        for (policy, seed), curve in run.curves.items():
            self.assertEqual({(row["policy"], row["seed"]) for row in curve}, {(policy, seed)})
        self.assertEqual(run.networks, {})

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_arrays_are_the_columns_of_the_rows(self):
        rows = legacy_results.read_run(self.folder / "run", frames=False)
        arrays = legacy_results.read_run(self.folder / "run", frames="arrays")
        for name in ("steps", "evaluations", "links", "doctor"):
            columns = getattr(arrays, name)
            for column, values in columns.items():
                self.assertEqual(values.tolist(), [row[column] for row in getattr(rows, name)],
                                 column)
        self.assertEqual(arrays.steps["seed"].dtype, numpy.uint64)  # holds 2^64 - 1
        self.assertEqual(arrays.steps["fresh"].dtype, bool)
        for key, curve in rows.curves.items():
            self.assertEqual(arrays.curves[key]["step"].tolist(), [row["step"] for row in curve])

    def test_an_interrupted_run_is_read_with_notes(self):
        run = self.folder / "run"
        (run / "layers.csv").unlink()
        steps = (run / "steps.csv").read_bytes()
        (run / "steps.csv").write_bytes(steps[:-2])
        (run / "summary.json").write_text('{"workers": 4}')
        read = legacy_results.read_run(run, frames=False)
        self.assertEqual((len(read.steps), len(read.layers)), (1, 0))
        self.assertEqual(read.notes, ["steps.csv: the last line is unfinished and ignored",
                                      "layers.csv is missing"])
        self.assertEqual(read.summary, {"workers": 4})

    def test_mistakes_are_named(self):
        run = self.folder / "run"
        self.expect_error("allowed: a directory with a manifest.json",
                          legacy_results.read_run, self.folder)
        self.change("run/network.csv", "fidelity", "fidelities")
        self.expect_error("network.csv:1: allowed: a header line with 'fidelity'",
                          legacy_results.read_run, run)
        self.change("run/network.csv", "fidelities", "fidelity")
        (run / "evaluations.csv").write_text(
            ",".join(columns_of("evaluations.csv")) + "\ndense,1,2,3,4,5,x,7,8\n")
        self.expect_error("evaluations.csv:2: column 'test_loss': got 'x'; allowed: a number",
                          legacy_results.read_run, run)
        self.change("run/evaluations.csv", ",x,7,8", "")
        self.expect_error("evaluations.csv:2: got 6 fields; allowed: 9", legacy_results.read_run,
                          run)
        self.change("run/manifest.json", '"target"', '"goal"')
        self.expect_error("manifest.json: metrics, target:", legacy_results.read_run, run)
        self.change("run/manifest.json", '"format": 2', '"format": 3')
        self.expect_error("manifest.json: format: allowed: 1, 2", legacy_results.read_run, run)


class StudyTest(ReaderTest):
    def test_values_are_those_of_the_export(self):
        study = legacy_results.read_study(self.folder / "study", frames=False)
        self.assertEqual(repr(study), f"Study({str(study.path)!r}: {', '.join(study.policies)})")
        for name in ("points", "trainings", "curves"):
            names, rows = read_texts(self.folder / "export" / f"{name}.csv")
            table = getattr(study, name)
            self.assertEqual(len(table), len(rows))
            for row, texts in zip(table, rows):
                for column, text in zip(names, texts):
                    value = row[column]
                    if value is None:
                        self.assertEqual(text, "", column)
                    else:
                        self.assertEqual(value, type(value)(text), column)
        self.assertEqual([point["state"] for point in study.points[:3]],
                         ["failed", "pending", "done"])
        self.assertIsNone(study.points[2]["time_to_target"])
        self.assertEqual(study.points[2]["simulated_seconds"] > 0, True)
        self.assertEqual(study.curves[1]["test_loss"], math.inf)
        self.assertEqual(study.curves[0]["policy"], POLICY)
        self.assertEqual(study.curves[0]["bandwidth_number"], 1e7 / 3)

    def test_columns_are_known_with_their_units(self):
        units = json.loads((self.folder / "export" / "study.json").read_text())["units"]
        axes = ["bandwidth", "bandwidth_number", "order"]
        for table in ("points", "curves", "trainings"):
            names = [n for n in read_texts(self.folder / "export" / f"{table}.csv")[0]
                     if n not in axes]
            columns = columns_of(table)
            self.assertEqual(list(columns), names)
            for name in names:
                self.assertEqual(columns[name][1], units.get(table, {}).get(name, ""), name)

    def test_the_description_is_read(self):
        study = legacy_results.read_study(self.folder / "study" / "study.sqlite", frames=False)
        self.assertEqual(study.policies, [POLICY, "dense"])
        self.assertEqual(study.seeds, [7, 2**63 - 1])
        self.assertEqual(study.target, legacy_results.Target("perplexity", 0.1 + 0.2))
        self.assertEqual(study.metrics, METRICS)
        self.assertEqual(study.metric, METRICS[1])
        self.assertEqual(study.title, 'A "title", with é')
        self.assertEqual(study.axes, [
            legacy_results.Axis("bandwidth", "bit/s", ["1Gbps", "10Mbps"], [1e9, 1e7 / 3]),
            legacy_results.Axis("order", "", ["b", "a"], None)])

    def test_mistakes_are_named(self):
        self.expect_error("allowed: a study's folder or its study.sqlite",
                          legacy_results.read_study, self.folder)
        self.expect_error("file is not a database",
                          legacy_results.read_study, self.folder / "run" / "steps.csv")
        self.sql("UPDATE study SET format = 2")
        self.expect_error("study.sqlite: format: allowed: 3",
                          legacy_results.read_study, self.folder / "study")


class OverviewTest(ReaderTest):
    def overview(self, *arguments):
        program = ROOT / "analysis" / "python" / "legacy_results.py"
        return subprocess.run([sys.executable, "-B", str(program), *map(str, arguments)],
                              capture_output=True, text=True, check=False)

    def test_a_study(self):
        output = self.overview(self.folder / "study").stdout
        self.assertIn("16 points (14 done, 1 pending, 1 failed), 4 trainings", output)
        self.assertIn("axis bandwidth (bit/s): 1Gbps, 10Mbps", output)
        self.assertIn(f"  {POLICY}: 6 done, 5 reached the target", output)
        self.assertIn("failed: training t9: out of memory", output)

    def test_a_run(self):
        output = self.overview(self.folder / "run").stdout
        self.assertIn("example, 4 workers, 1000 parameters, fidelity flow", output)
        self.assertIn(f"  {POLICY}, seed {2**64 - 1}: finished; accuracy ", output)
        self.assertIn(f"  dense, seed {2**64 - 1}: not finished; no evaluation", output)

    def test_anything_else(self):
        result = self.overview(self.folder)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("allowed: a run directory", result.stderr)
        self.assertEqual(self.overview().returncode, 2)


@unittest.skipIf(legacy_results.pandas is None, "pandas is not installed")
class FramesTest(ReaderTest):
    def test_frames_hold_what_the_lists_hold(self):
        study = legacy_results.read_study(self.folder / "study")
        rows = legacy_results.read_study(self.folder / "study", frames=False)
        self.assertEqual(list(study.points.columns), list(rows.points[0]))
        for name in study.points.columns:
            for value, expected in zip(study.points[name], [row[name] for row in rows.points]):
                if expected is None:
                    self.assertTrue(legacy_results.pandas.isna(value), name)
                else:
                    self.assertEqual(value, expected, name)
        done = study.points[study.points.state == "done"]
        # The number is above 2^53: no float may come between.
        self.assertEqual(done.events.iloc[0], rows.points[2]["events"])
        self.assertEqual(str(study.points.events.dtype), "Int64")
        self.assertEqual(len(study.curves.groupby("bandwidth")), 2)

    def test_frames_of_runs(self):
        run = legacy_results.read_run(self.folder / "run")
        self.assertEqual(str(run.steps.seed.dtype), "UInt64")
        self.assertEqual(int(run.steps.seed[0]), 2**64 - 1)
        self.assertEqual(str(run.steps.fresh.dtype), "bool")
        self.assertEqual(list(run.links.columns), list(legacy_results.COLUMNS["links.csv"]))
        (self.folder / "run" / "layers.csv").unlink()
        empty = legacy_results.read_run(self.folder / "run").layers
        self.assertEqual((len(empty), "elements" in empty.columns), (0, True))


@unittest.mock.patch.object(legacy_results, "pandas", None)
class NoFramesTest(ReaderTest):
    def test_lists_are_given_and_frames_refused(self):
        self.assertIsInstance(legacy_results.read_study(self.folder / "study").points, list)
        self.expect_error("pandas is not installed", legacy_results.read_run, self.folder / "run",
                          True)


if __name__ == "__main__":
    WRITE_EXAMPLE = sys.argv.pop(1)
    unittest.main()
