#!/usr/bin/env python3
"""Checks the verdicts of docs/artifact on cells and tables:  artifact_test.py ARTIFACT"""
import sys
import unittest
from importlib.machinery import SourceFileLoader

sys.dont_write_bytecode = True
artifact = SourceFileLoader("artifact", sys.argv[1]).load_module()


class Cells(unittest.TestCase):
    def verdict(self, page, rerun, ratio=False):
        return artifact.compare(page, rerun, ratio)

    def test_equal_texts_are_equal(self):
        for cell in ("baseline", "85.3 ± 0.6 %", "≥ 4.72 s, 2 of 3 reached"):
            self.assertEqual(self.verdict(cell, cell), "equal")

    def test_values_in_an_interval_of_either_side(self):
        within = "within interval"
        self.assertEqual(self.verdict("85.3 ± 0.6 %", "84.8 ± 0.1 %"), within)
        self.assertEqual(self.verdict("85.3 ± 0.1 %", "84.8 ± 0.6 %"), within)
        self.assertEqual(self.verdict("874 ± 151 ms", "1.01 ± 0.01 s"), within)
        self.assertEqual(self.verdict("+0.07 [-1.43, +1.56]", "-1.2 [-3.0, +0.6]"), within)
        self.assertEqual(self.verdict("1,200", "1,210"), within)
        self.assertEqual(self.verdict("≤ 1.85", "≤ 1.80"), within)

    def test_values_outside_are_different(self):
        self.assertEqual(self.verdict("85.3 ± 0.6 %", "80.1 ± 0.5 %"), "different")
        self.assertEqual(self.verdict("1.00", "1.20"), "different")
        self.assertEqual(self.verdict("≥ 4.72 s, 2 of 3 reached", "4.60 ± 0.3 s"), "different")
        self.assertEqual(self.verdict("baseline", "1.0"), "different")

    def test_signs(self):
        self.assertEqual(self.verdict("+2.4 [+1.2, +3.6]", "-2.0 [-3.0, -1.0]"), "other sign")
        self.assertEqual(self.verdict("+2.4 [-1.2, +6.0]", "-2.0 [-3.0, -1.0]"), "different")
        self.assertEqual(self.verdict("1.8 [1.5, 2.1]", "0.7 [0.6, 0.8]", ratio=True), "other sign")
        self.assertEqual(self.verdict("1.8 [1.5, 2.1]", "0.7 [0.6, 0.8]"), "different")


class Tables(unittest.TestCase):
    PAGE = ["| rate | method | points | times faster |", "|---:|---|---:|---:|",
            "| 1 Gbit/s | topk | +1.0 [+0.5, +1.5] | 2.0 [1.5, 2.5] |",
            "| 1 Gbit/s | dense | baseline | baseline |"]

    def judged(self, *rows):
        block = type("Block", (), {"lines": self.PAGE, "names": 2})
        table = artifact.Table(block, "study", "claim")
        artifact.judge(table, "\n".join(self.PAGE[:2] + list(rows)))
        return table

    def test_the_worst_cell_counts(self):
        self.assertEqual(self.judged(*self.PAGE[2:]).verdict, "equal")
        table = self.judged("| 1 Gbit/s | topk | +1.2 [+0.8, +1.6] | 0.7 [0.6, 0.8] |",
                            self.PAGE[3])
        self.assertEqual(table.verdict, "other sign")
        self.assertIn("1 Gbit/s, topk: times faster: 2.0 [1.5, 2.5], now 0.7", table.worst)

    def test_a_row_that_is_gone_is_different(self):
        table = self.judged(self.PAGE[2])
        self.assertEqual((table.verdict, "no such row" in table.worst), ("different", True))


class Lists(unittest.TestCase):
    def setUp(self):
        self.definitions = artifact.studies()
        self.tables = artifact.tables(self.definitions)

    def test_tiers_name_sources(self):
        shown = {table.source for table in self.tables}
        for tier, listed in artifact.tiers().items():
            if listed != "all":
                self.assertEqual([s for s in listed if s not in shown], [], tier)
        self.assertEqual(set(artifact.sources_of("full", self.tables)), shown)
        self.assertGreater(len(self.tables), 110)

    def test_every_table_of_a_command_or_a_program_has_its_source(self):
        page = artifact.ROOT / "docs/results/validation.md"
        marks = page.read_text(encoding="utf-8").count("<!-- table: ")
        self.assertEqual(sum(table.source == "validation" for table in self.tables), marks)
        for table in self.tables:
            self.assertIn(table.source, {"commands", "validation", "whole-steps"} |
                          set(self.definitions))
            if table.source == "commands" and artifact.READ.search(table.block.command):
                self.assertTrue(table.before, f"{table.block.place}: nothing makes what it reads")

    def test_a_table_without_aligned_columns_has_its_words_as_names(self):
        rows = ["| case | class | ms |", "| --- | --- | --- |", "| 8 GPUs, 8GiB | A | 370.0 |"]
        self.assertEqual(artifact.words_before_numbers(rows), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
