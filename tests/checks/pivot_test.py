"""Checks docs/pivot and docs/differences on a known table of a study."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
TABLE = """bandwidth,fidelity,policy,seeds_planned,time_mean,time_low,time_high
1Gbps,flow,dense,3,1.07,1,1.1
1Gbps,flow,topk,3,0.25,0.2,0.3
1Gbps,packet,dense,3,1,0.9,1.1
1Gbps,packet,topk,3,,,
10Gbps,flow,dense,3,0.0109,0.01,0.012
10Gbps,packet,dense,3,0.01,0.01,0.01
"""


class Tables(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.file = pathlib.Path(self.directory.name) / "table.csv"
        self.file.write_text(TABLE)

    def run_program(self, name, *arguments):
        return subprocess.run([sys.executable, str(DOCS / name), str(self.file), *arguments],
                              capture_output=True, text=True, check=False)

    def test_a_column_for_each_value(self):
        result = self.run_program("pivot", "--rows", "bandwidth", "--columns", "policy", "--value",
                                  "time_mean", "--unit", "ms",
                                  "--where", "fidelity=flow", "--interval")
        self.assertEqual(result.stdout.splitlines(),
                         ["| bandwidth | dense | topk |", "|---|---:|---:|",
                          "| 1Gbps | 1,070 [1,000, 1,100] | 250 [200, 300] |",
                          "| 10Gbps | 10.9 [10.0, 12.0] | - |"])

    def test_a_value_per_another(self):
        result = self.run_program("pivot", "--rows", "bandwidth", "--columns", "policy", "--value",
                                  "time_low", "--per", "time_mean",
                                  "--unit", "%", "--where", "fidelity=flow", "--only", "topk,dense")
        self.assertEqual(result.stdout.splitlines()[2:],
                         ["| 1Gbps | 80.0 | 93.5 |", "| 10Gbps | - | 91.7 |"])

    def test_what_is_ambiguous_or_unknown_is_refused(self):
        self.assertIn("two rows", self.run_program("pivot", "--rows", "bandwidth", "--columns",
                                                   "policy", "--value", "time_mean").stderr)
        self.assertIn("allowed: bandwidth, fidelity",
                      self.run_program("pivot", "--rows", "rate", "--columns", "policy", "--value",
                                       "time_mean").stderr)

    def test_differences_all_else_equal(self):
        result = self.run_program("differences", "--column", "fidelity", "--of", "flow", "--to",
                                  "packet", "--value", "time_mean",
                                  "--rows", "policy")
        self.assertEqual(result.stdout.splitlines()[2:],
                         ["| dense | 2 | 8.0 % | 9.0 % | +7.0 % | +9.0 % |"])


if __name__ == "__main__":
    unittest.main()
