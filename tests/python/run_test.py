"""Compares legacy.run and legacy.replay with the programs.

Usage: run_test.py LEGACY_SCENARIO LEGACY_REPLAY LEGACY_FEDERATED
"""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import testing

import numpy

import legacy

# Options of a training that takes a second.
SMALL = {
    "workers": 2,
    "batch": 4,
    "steps": 6,
    "evaluate_every": 3,
    "test_limit": 20,
    "model": "small-cnn",
    "policies": ["dense", "topk"],
    "topo": "star",
    "fidelity": "flow",
    "seeds": 2,
    "networks": "none",
    "pictures": False,
}
FILES = ["steps.csv", "evaluations.csv", "layers.csv", "links.csv", "network.csv"]


def column(table, name):
    return list(table[name])


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_small(self, name, scenario=None, **options):
        return legacy.run(scenario, progress=False, **{**SMALL, **options}, out=self.folder / name)

    def program(self, program, *line):
        return subprocess.run([program, *line], check=True, capture_output=True, text=True)

    def expect_same_files(self, one, other):
        for file in FILES:
            self.assertEqual(
                (self.folder / one / file).read_bytes(),
                (self.folder / other / file).read_bytes(),
                file,
            )

    def test_files_are_those_of_the_programs(self):
        run = self.run_small("here", record=True)
        words = {name: legacy._text.text(value) for name, value in SMALL.items()}
        line = [f"--{name.replace('_', '-')}={text}" for name, text in words.items()]
        printed = self.program(
            testing.PROGRAMS[0], *line, f"--out={self.folder / 'there'}", "--record"
        ).stdout
        self.expect_same_files("here", "there")
        self.assertEqual(
            run.text.replace("here", "there").replace("legacy.run", "legacy-scenario"), printed
        )

        legacy.replay(run, bandwidth="10Gbps", pictures=False, out=self.folder / "replayed")
        self.program(
            testing.PROGRAMS[1],
            self.folder / "there",
            "--bandwidth=10Gbps",
            "--pictures=off",
            f"--out={self.folder / 'replayed there'}",
        )
        self.expect_same_files("replayed", "replayed there")
        slow, fast = (legacy.read(self.folder / name) for name in ("here", "replayed"))
        self.assertEqual(
            column(slow.evaluations, "test_accuracy"), column(fast.evaluations, "test_accuracy")
        )
        self.assertGreater(
            max(column(slow.evaluations, "simulated_seconds")),
            max(column(fast.evaluations, "simulated_seconds")),
        )
        with self.assertRaisesRegex(legacy.Error, "density.*belongs to the training"):
            legacy.replay(run, density=0.5, out=self.folder / "other")

    def test_runs_of_clients_are_replayed(self):
        self.program(
            testing.PROGRAMS[2],
            "--clients=4",
            "--rounds=2",
            "--per-round=2",
            "--policies=dense,topk",
            "--record",
            "--pictures=off",
            f"--out={self.folder / 'clients'}",
        )
        again = legacy.replay(
            self.folder / "clients", up_rates=0.5, pictures=False, out=self.folder / "again"
        )
        first = legacy.read(self.folder / "clients")
        self.assertEqual(
            column(again.evaluations, "test_accuracy"), column(first.evaluations, "test_accuracy")
        )
        self.assertGreater(
            column(again.steps, "simulated_seconds")[-1],
            column(first.steps, "simulated_seconds")[-1],
        )

    def test_results_are_read_back(self):
        run = self.run_small("run")
        self.assertEqual(run.path, self.folder / "run")
        what = f"Run({str(run.path)!r}: dense, topk; 2 workers on star, 2 seeds"
        self.assertEqual(repr(run), what + ")")
        (run.path / "finished").unlink()
        self.assertEqual(repr(run), what + ", not finished)")
        self.assertEqual(repr(run.summary), f"Summary(dense, topk: {run.summary['verdict']})")
        self.assertEqual(json.loads(json.dumps(run.summary)), run.summary)
        self.assertEqual(
            repr(legacy.config(model="small-cnn", workers=2, topo="star", fidelity="flow")),
            "Scenario(small-cnn on glyphs, 2 workers, star at 1Gbps, flow; print() shows all)",
        )
        shape = legacy.config(layers="resnet50")
        self.assertEqual(repr(shape)[:25], "Scenario(shape resnet50, ")
        self.assertEqual([policy["name"] for policy in run.summary["policies"]], ["dense", "topk"])
        self.assertEqual(list(run.curves), [("dense", 1), ("topk", 1), ("dense", 2), ("topk", 2)])
        curve = run.curves["topk", 2]
        self.assertEqual(column(curve, "step"), [3, 6])
        self.assertEqual(set(column(curve, "policy")), {"topk"})
        arrays = legacy.read(run.path, frames="arrays")
        self.assertEqual(arrays.steps["step"].dtype, numpy.int64)
        self.assertEqual(arrays.steps["step_seconds"].shape, (24,))
        self.assertEqual(legacy.read(run.path, frames=False).steps[0]["policy"], "dense")
        self.assertEqual(run.manifest["program"], "legacy.run")
        self.assertIn("workers=2", run.manifest["command_line"])
        with self.assertRaisesRegex(legacy.Error, "allowed: a directory with a manifest.json"):
            legacy.read(self.folder)

    def test_a_plot_draws_what_the_programs_picture_draws(self):
        policies = ["dense", "topk", "fp16", "qsgd", "powersgd", "randomk", "legacy-both"]
        run = self.run_small("run", policies=policies, seeds=3, pictures=True, test_limit=50)
        axes = unittest.mock.MagicMock()
        self.assertIs(run.plot(axes), axes)
        # The picture's script is the oracle: its blocks of points, colours and names.
        script = (run.path / "metric-time.gp").read_text()
        drawn = re.findall(r"with linespoints lc rgb '(#\w+)'.*? title '([^']*)'", script)
        blocks = re.findall(r"\$curve\d+ << END\n(.*?)\nEND", script, re.DOTALL)
        curves = axes.plot.call_args_list
        self.assertEqual(len(curves), 6)
        shown = [(call.kwargs["color"], call.kwargs["label"]) for call in curves]
        self.assertEqual(shown, drawn[:6])
        looks = {(c.kwargs["color"], c.kwargs["marker"], c.kwargs["fillstyle"]) for c in curves}
        self.assertEqual(len(looks), 6)
        for curve, band, block in zip(curves, axes.fill_between.call_args_list, blocks):
            points = numpy.array([line.split() for line in block.splitlines()], float)
            numpy.testing.assert_allclose(numpy.transpose(curve.args), points[:, :2], rtol=1e-9)
            numpy.testing.assert_allclose(
                numpy.transpose(band.args), points[:, [0, 2, 3]], rtol=1e-9
            )
        (missing,) = set(policies) - {label for _, label in shown}
        self.assertIn(f"not drawn: {missing}", axes.set_title.call_args.args[0])

        with unittest.mock.patch.dict(sys.modules, {"matplotlib": None}):
            if (run.path / "metric-time.svg").exists():
                picture = run.plot()
                self.assertEqual(repr(picture), f"Picture('{run.path}/metric-time.svg')")
                self.assertIn("</svg>", picture._repr_svg_())
                self.assertEqual(run._repr_svg_(), picture._repr_svg_())
            for file in run.path.glob("*.svg"):
                file.unlink()
            self.assertIsNone(run._repr_svg_())
            with self.assertRaisesRegex(legacy.Error, "allowed: .*pictures=True, or matplotlib"):
                run.plot()
        (run.path / "evaluations.csv").unlink()
        with self.assertRaisesRegex(legacy.Error, "allowed: a run with evaluations"):
            run.plot(axes)

    def test_a_plot_is_drawn_by_matplotlib(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("matplotlib is not installed")
        matplotlib.use("agg")
        axes = self.run_small("run", seeds=1).plot()
        axes.figure.savefig(self.folder / "plot.svg")
        labels = [line.get_label() for line in axes.lines]
        self.assertEqual((labels[:2], len(axes.collections)), (["dense", "topk"], 0))

    def test_a_scenario_is_a_dict_a_text_a_path_or_several(self):
        sections = {
            "training": {"workers": 3, "batch": 4},
            "network": {"topology": "star", "bandwidth": "2Gbps"},
            "compression": {"policies": ["mine"]},
            "methods": {"mine": {"scheme": "topk+fp16", "parameter": 0.05}},
        }
        text = (
            "training: {workers: 3, batch: 4}\nnetwork: {topology: star, bandwidth: 2Gbps}\n"
            "compression: {policies: [mine]}\n"
            "methods:\n  mine: {scheme: topk+fp16, parameter: 0.05}\n"
        )
        file = self.folder / "scenario.yaml"
        file.write_text(text)
        expected = legacy.config(sections)
        self.assertEqual(legacy.config(text), expected)
        self.assertEqual(legacy.config(file), expected)
        self.assertEqual(legacy.config(str(file)), expected)
        self.assertEqual(legacy.config([file, {"training": {"workers": 3}}]), expected)
        self.assertEqual(legacy.config(expected), expected)
        self.assertNotEqual(legacy.config([file, {"workers": 5}]), expected)
        self.assertEqual(legacy.config([file, {"workers": 5}], workers=3), expected)
        program = self.program(testing.PROGRAMS[0], f"--scenario={file}", "--print-config").stdout
        self.assertEqual(expected, program)
        self.assertEqual(
            legacy.config(), self.program(testing.PROGRAMS[0], "--print-config").stdout
        )
        preset = self.program(testing.PROGRAMS[0], "--preset=paper-legacy", "--print-config").stdout
        self.assertEqual(legacy.config(preset="paper-legacy"), preset)
        file.write_text("preset: paper-legacy\ncompression: {density: 3%}\n")
        preset = self.program(testing.PROGRAMS[0], f"--scenario={file}", "--print-config").stdout
        self.assertEqual(
            legacy.config({"preset": "paper-legacy", "compression": {"density": "3%"}}), preset
        )
        target = self.program(testing.PROGRAMS[0], "--target=top5=90%", "--print-config").stdout
        self.assertEqual(legacy.config(target={"top5": "90%"}), target)
        self.assertEqual(legacy.config(target={"top5": 0.9}).replace("0.9", "90%"), target)
        with self.assertRaisesRegex(legacy.Error, "allowed: a metric of the task: accuracy, top5"):
            legacy.config(target={"perplexity": 120})
        shape = self.program(testing.PROGRAMS[0], "--layers=resnet50", "--print-config").stdout
        self.assertEqual(legacy.config(layers="resnet50"), shape)
        self.assertIn("SegmentSize", legacy.config(ns3={"ns3::TcpSocket::SegmentSize": 1000}))

    def test_numbers_are_taken_where_texts_have_units(self):
        texts = {
            "bandwidth": "2Gbps",
            "delay": "50us",
            "density": "1%",
            "workers": "4",
            "bucket": "1000000",
            "checkpoint": "600s",
            "memory": "2GB",
            "packet_budget": "1.5s",
            "memoise": "off",
            "volume": "off",
            "target": "none",
            "splits": "100,200",
        }
        numbers = {
            "bandwidth": numpy.float64(2e9),
            "delay": 5e-5,
            "density": 0.01,
            "workers": 4.0,
            "bucket": 1e6,
            "checkpoint": 600,
            "memory": 2e9,
            "packet_budget": 1.5,
            "memoise": numpy.bool_(False),
            "volume": False,
            "target": False,
            "splits": numpy.array([100, 200]),
        }
        rows = {option["name"]: option for option in legacy.options()}
        for name, number in numbers.items():
            section, key = rows[name]["key"].split(".")
            with self.subTest(name):
                values = [
                    line.split(": ")[1]
                    for scenario, options in (
                        (None, {name: number}),
                        ({section: {key: number}}, {}),
                        (None, {name: texts[name]}),
                    )
                    for line in legacy.config(scenario, **options).splitlines()
                    if line.strip().startswith(key + ": ")
                ]
                units = {"2000000000bps": "2Gbps", "5e-05s": "50us", "2000000000": "2GB"}
                for value in values:
                    self.assertEqual(units.get(value, value), texts[name])
                self.assertEqual(len(values), 3)
        self.assertIn("true", legacy.config(ns3={"ns3::TcpSocketBase::Sack": True}))

    def test_wrong_types_name_the_option_and_what_is_allowed(self):
        for text, call in {
            "^workers: got True; allowed: a whole number$": {"workers": True},
            "^steps: got {}; allowed: a whole number or the text N|Nep$": {"steps": {}},
            "^bandwidth: got an object of type object; allowed: a number of bit/s or the text": {
                "bandwidth": object()
            },
            "^network.delay: got 1j; allowed: a number of seconds or the text 10us$": {
                "scenario": {"network": {"delay": 1j}}
            },
            "^pictures: got b'on'; allowed: True, False or the text on|off$": {"pictures": b"on"},
            "^networks: got True; allowed: the text none|auto|": {"networks": True},
            "^levels: got ..0.1..; allowed: the text 10%,0.5%/1%,0.05%$": {"levels": [[0.1]]},
            "^ns3: got 3; allowed: a dict of attributes$": {"ns3": 3},
            "^scenario: got 5; allowed: a dict, a YAML text, the path": {"scenario": 5},
            "^preset: got 5; allowed: a name$": {"preset": 5},
        }.items():
            text = text.replace("|", r"\|")
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                legacy.config(**call)

    def test_what_cannot_be_says_what_is_allowed(self):
        for text, call in {
            "did you mean workers": {"wrkers": 3},
            "workers: got '0'": {"workers": 0},
            "cannot be read": {"scenario": "nofile.yaml"},
            "scenario:2:3: unknown key 'network.topologyy'": {
                "scenario": "network:\n  topologyy: star\n"
            },
            "a rate with its unit": {"scenario": {"network": {"bandwidth": "fast"}}},
            "got 'nothing'; legacy-scenario --policies=list": {"policies": ["nothing"]},
        }.items():
            with self.subTest(text), self.assertRaisesRegex(legacy.Error, text):
                legacy.run(**call, out=self.folder / "run")
        self.assertFalse((self.folder / "run").exists())
        self.run_small("run", steps=1, seeds=1)
        with self.assertRaisesRegex(legacy.Error, "a folder without a run in it"):
            self.run_small("run")

    def test_progress_goes_to_sys_stderr_or_nowhere(self):
        for progress in (True, False):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                legacy.run(**SMALL, progress=progress, out=self.folder / str(progress))
            self.assertEqual(
                "topk                   seed 2   step     6/6" in said.getvalue(), progress
            )
            self.assertEqual(said.getvalue() == "", not progress)
        out = str(self.folder / "silent")
        code = f"import legacy; legacy.run(**{SMALL!r}, progress=False, out={out!r})"
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_ctrl_c_ends_a_run_that_can_be_read(self):
        with self.assertRaises(KeyboardInterrupt), testing.interrupted_after(1.5):
            self.run_small("run", steps=100000)
        run = legacy.read(self.folder / "run")
        self.assertGreater(len(column(run.steps, "step")), 0)
        self.assertEqual(len(column(run.network, "policy")), 0)  # no training has finished
        self.run_small("after")  # the next one is not interrupted

    def test_a_run_that_ctrl_c_ended_is_resumed_to_the_same_files(self):
        options = {**SMALL, "steps": 300, "evaluate_every": 100, "seeds": 1}
        out = self.folder / "stopped"
        code = f"import legacy; legacy.run(**{options!r}, out={str(out)!r})"
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        while "step" not in process.stderr.readline():  # the first evaluation
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        said = process.communicate(timeout=60)[1]
        self.assertLess(time.monotonic() - begin, 5)
        self.assertTrue(
            said.endswith(f"KeyboardInterrupt\ninterrupted; legacy.resume('{out}') continues\n"),
            said,
        )
        done = len(column(legacy.read(out).steps, "step"))
        self.assertTrue(0 < done < 600, done)
        with self.assertRaisesRegex(legacy.Error, "density.*as the run began"):
            legacy.resume(out, density=0.5, progress=False)
        resumed = legacy.resume(out, progress=False)
        self.assertEqual(len(column(resumed.steps, "step")), 600)
        legacy.run(**options, progress=False, out=self.folder / "undisturbed")
        self.expect_same_files("stopped", "undisturbed")
        with self.assertRaisesRegex(legacy.Error, "a run that is not finished"):
            legacy.resume(resumed, progress=False)

    def test_other_threads_run_meanwhile(self):
        turns = 0
        done = threading.Event()

        def count():
            nonlocal turns
            while not done.is_set():
                turns += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        self.run_small("run")
        done.set()
        thread.join()
        self.assertGreater(turns, 50)

    def test_importing_is_quick_and_does_not_load_libtorch(self):
        code = (
            "import os, time; import numpy; begin = os.times(); import legacy; end = os.times();"
            "maps = open('/proc/self/maps').read(); assert 'liblegacy_comparison' in maps;"
            "assert 'libtorch' not in maps, 'LibTorch';"
            "assert 'pandas' not in __import__('sys').modules;"
            "print(end.user + end.system - begin.user - begin.system)"
        )
        seconds = min(
            float(
                subprocess.run(
                    [sys.executable, "-c", code], check=True, capture_output=True, text=True
                ).stdout
            )
            for _ in range(3)
        )
        self.assertLess(seconds, 0.3)

    def test_another_python_is_named_as_the_cause(self):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        other = f"legacy: built for Python 3.5, and this is Python {sys.version.split()[0]} "
        package = pathlib.Path(legacy.__file__).parent
        copy = self.folder / "legacy"
        copy.mkdir()
        for name in ("__init__.py", "_interpreter.py"):
            shutil.copy(package / name, copy)
        for compiled, hidden, said in (
            ("_legacy.cpython-35m-x86_64-linux-gnu.so", "", other),
            (next(package.glob("_legacy.*.so")).name, "numpy", "which has no NumPy; type: "),
            (None, "", "its compiled part is missing; type: ./waf python"),
        ):
            for file in copy.glob("*.so"):
                file.unlink()
            if compiled:
                (copy / compiled).touch()
            code = (
                "import importlib.util as u; find = u.find_spec;"
                f"u.find_spec = lambda name: None if name == '{hidden}' else find(name);"
                "import legacy"
            )
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": str(self.folder)},
                capture_output=True,
                text=True,
            )
            last = done.stderr.splitlines()[-1]
            self.assertTrue(last.startswith("ImportError: legacy: "), last)
            self.assertIn(said, last)
            if said == other:
                self.assertTrue(last.endswith(f"type: PYTHONPATH={self.folder} python3.5"), last)
            if hidden:
                self.assertIn(f"built for Python {version}", last)

    def test_several_networks_are_results_each(self):
        run = self.run_small("run", seeds=1, networks="wide:bandwidth=100Mbps,delay=5ms")
        self.assertEqual(list(run.networks)[1:], ["wide"])
        self.assertIs(list(run.networks.values())[0], run)
        self.assertGreater(
            column(run.networks["wide"].steps, "step_seconds")[0],
            column(run.steps, "step_seconds")[0],
        )

    def test_options_are_listed(self):
        options = {option["name"]: option for option in legacy.options()}
        self.assertEqual(options["workers"]["key"], "training.workers")
        self.assertIn("evaluate_every", options)
        self.assertEqual(options["seeds"]["default"], "1")


if __name__ == "__main__":
    testing.main()
