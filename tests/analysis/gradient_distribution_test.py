"""Checks gradient_distribution.py on gradients whose distribution is known."""
import array
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "analysis" / "python" / "gradient_distribution.py"


def run(folder, *arguments):
    return subprocess.run([sys.executable, str(SCRIPT), str(folder), *arguments],
                          capture_output=True, text=True, check=False)


class GradientDistribution(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = pathlib.Path(self.directory.name)

    def write(self, name, values):
        (self.folder / name).write_bytes(array.array("f", values).tobytes())

    def cells(self, output):
        return [[cell.strip() for cell in line.strip("|").split("|")]
                for line in output.splitlines()[2:]]

    def test_a_wave_is_in_the_spectrum_and_spikes_in_the_values(self):
        (self.folder / "layers.txt").write_text("wave 64x64\nspikes 4096\nsmall 10\n")
        wave = [math.sin(2 * math.pi * 16 * i / 4096) for i in range(4096)]
        spikes = [1.0 if i % 100 == 0 else 0.0 for i in range(4096)]
        self.write("dense-seed1-step7.f32", wave + spikes + [1.0] * 10)
        result = run(self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = self.cells(result.stdout)
        self.assertEqual([row[:2] for row in rows], [["wave", "step 7"], ["spikes", "step 7"]])
        self.assertEqual(rows[0][6], "100.0%")
        self.assertEqual(rows[0][4], "1.5")  # the kurtosis of a sine
        self.assertLess(float(rows[0][5].rstrip("%")), 35)
        self.assertEqual(rows[1][5], "100.0%")
        self.assertEqual(rows[1][2], "99.0%")

    def test_what_does_not_fit_is_said(self):
        (self.folder / "layers.txt").write_text("all 64\n")
        self.assertIn("no gradients", run(self.folder).stderr)
        self.write("dense-seed1-step0.f32", [0.0] * 63)
        self.assertIn("63 values; layers.txt has 64", run(self.folder).stderr)


if __name__ == "__main__":
    unittest.main()
