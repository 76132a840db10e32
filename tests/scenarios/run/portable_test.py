"""Trains the smallest model of each kind on this processor and on emulated ones, and compares all
CSV files byte by byte.

Usage: portable_test.py LEGACY_SCENARIO [--all]

The emulator is Debian's qemu-user. Its processors differ in maker, instructions and caches. A run
on one takes 8 to 15 s, so that each model has one of them in turn; --all: each has all of them.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCENARIO = sys.argv[1]
ALL = sys.argv[2:] == ["--all"]
EMULATOR = shutil.which("qemu-x86_64")
PROCESSORS = ["Haswell", "EPYC"]
LACKS_FMA = "SandyBridge"
SKIPPED = 77  # exit status that ctest shows as skipped

ALWAYS = [
    "--topo=star",
    "--fidelity=analytic",
    "--networks=none",
    "--policies=topk",
    "--workers=2",
    "--steps=1",
    "--evaluate-every=1",
    "--warmup-steps=0",
    "--target=none",
    "--seeds=1",
    "--threads=1",
    "--checkpoint=off",
    "--pictures=off",
]
MODELS = {
    "patch-resnet20:width=8": ["--dataset=glyphs", "--batch=4", "--train-limit=256",
                               "--test-limit=16"],
    "lstm:hidden=16,dropout=0.2": [
        "--dataset=grammar:vocabulary=50,tokens=1000", "--batch=2", "--window=8"],
    "gpt-tiny:layers=1,width=16,heads=2": [
        "--dataset=grammar:vocabulary=50,tokens=1000", "--batch=2", "--window=8"],
    "ncf:factors=4": ["--dataset=tastes:users=40,items=60,per_user=5,negatives=9", "--batch=16"],
}
if ALL:
    MODELS["lenet5"] = MODELS["patch-resnet20:width=8"]
MODEL = next(iter(MODELS))
# What a user's environment may have: it must not count.
OTHER_KERNELS = {
    "OPENBLAS_CORETYPE": "Prescott",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "ATEN_CPU_CAPABILITY": "default",
    "LD_PRELOAD": "libopenblas.so.0",  # has chosen before the training is loaded, as NumPy's has
}


def environment(other=None):
    kept = {name: value for name, value in os.environ.items() if name not in OTHER_KERNELS}
    return kept | {"LEGACY_DATA": "/nowhere"} | (other or {})


class Portable(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="legacy-portable-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *arguments, emulated=None, other=None):
        emulator = [] if emulated is None else [EMULATOR, "-cpu", emulated]
        return subprocess.run([*emulator, SCENARIO, *arguments], env=environment(other), text=True,
                              capture_output=True, check=False)

    def files(self, model, name, **how):
        """Trains, and returns the CSV files by name."""
        out = self.folder / name
        done = self.run_program(f"--model={model}", *MODELS[model], *ALWAYS, f"--out={out}", **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        files = {path.name: path.read_bytes() for path in out.glob("*.csv")}
        self.assertIn("evaluations.csv", files)
        return files

    def compare(self, model, name, expected, **how):
        files = self.files(model, name, **how)
        self.assertEqual(files.keys(), expected.keys())
        for file, content in files.items():
            self.assertEqual(content, expected[file], f"{model}: {name}: {file}")

    def test_all_processors_give_the_same_files(self):
        for number, model in enumerate(MODELS):
            with self.subTest(model=model):
                here = self.files(model, f"here-{number}")
                turn = number % len(PROCESSORS)
                for processor in PROCESSORS if ALL else PROCESSORS[turn : turn + 1]:
                    self.compare(model, f"{processor}-{number}", here, emulated=processor)

    def test_the_environment_does_not_count(self):
        self.compare(MODEL, "other", self.files(MODEL, "here"), other=OTHER_KERNELS)

    def test_native_leaves_the_choice(self):
        """Kernels of another kind give other files, so that the comparison above can fail."""
        here = self.files(MODEL, "here")
        out = self.folder / "native"
        done = self.run_program(f"--model={MODEL}", *MODELS[MODEL], *ALWAYS, f"--out={out}",
                                "--processor=native", other={"ONEDNN_MAX_CPU_ISA": "SSE41"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual((out / "steps.csv").read_bytes(), here["steps.csv"])

    def test_a_processor_without_fma_is_refused(self):
        done = self.run_program(f"--model={MODEL}", *MODELS[MODEL], *ALWAYS,
                                f"--out={self.folder / 'old'}", emulated=LACKS_FMA)
        self.assertEqual(done.returncode, 2)
        self.assertIn("training.processor (--processor): got 'portable'; allowed: native",
                      done.stderr)


if __name__ == "__main__":
    if EMULATOR is None:
        print("skipped: no qemu-x86_64 (Debian package qemu-user)")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
