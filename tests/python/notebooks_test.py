"""Runs the notebooks and the page on Python, and compares the notebooks' outputs.

Usage: notebooks_test.py [--write]

--write: stores the new outputs in the notebooks that hold outputs.
"""

import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

import testing

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
WRITE = "--write" in sys.argv


def run_cells(notebook):
    """Runs the cells of code in order, and returns the output of each."""
    names = {"__name__": "__main__"}
    printed = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed


class NotebooksTest(unittest.TestCase):
    def test_they_run_and_print_what_they_hold(self):
        self.assertEqual(len(NOTEBOOKS), 2)
        for path in NOTEBOOKS:
            with (
                self.subTest(path.name),
                tempfile.TemporaryDirectory() as folder,
                contextlib.chdir(folder),
                unittest.mock.patch("tempfile.tempdir", folder),
            ):
                notebook = json.loads(path.read_text(encoding="utf-8"))
                self.assertEqual(notebook["nbformat"], 4)
                cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
                for cell, printed in zip(cells, run_cells(notebook), strict=True):
                    self.check(cell, printed)
                if WRITE:
                    path.write_text(
                        json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
                    )

    def check(self, cell, printed):
        """Compares outputs; notebooks hold only those that all machines share, no accuracies."""
        if WRITE and cell["metadata"].get("tags") == ["same-everywhere"]:
            cell["outputs"] = [
                {
                    "output_type": "stream",
                    "name": "stdout",
                    "text": printed.splitlines(keepends=True),
                }
            ]
        for output in cell["outputs"]:
            self.assertEqual("".join(output["text"]), printed)

    def test_the_code_of_the_page_runs(self):
        page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 5)
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch(
            "tempfile.tempdir", folder
        ):
            run_cells({"cells": [{"cell_type": "code", "source": block} for block in blocks]})

    def test_the_handbook_leads_to_them(self):
        index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        for path in NOTEBOOKS:
            self.assertIn(f"(notebooks/{path.name})", index)


if __name__ == "__main__":
    testing.main()
