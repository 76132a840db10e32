#!/usr/bin/env python3
"""Checks that git ignores what the handbook's commands write: outputs.py ROOT

Names in capitals, as in --out=DIR, and paths that begin with a variable or a folder of the system
stand for a choice of the reader. The exit status is 77 where ROOT is no clone.
"""

import pathlib
import re
import subprocess
import sys

COMMAND = re.compile(r"\./waf --run |^ *(\$run|legacy-\w+|python3) |^ +--")
OUTPUT = re.compile(r" --(?:out|csv|json|svg|fct|telemetry|queues|finish|doctor-csv|doctor-json|"
                    r"picture|trace|links)[= ]([a-z][\w./-]*\.\w+|[a-z][\w-]*/[\w./-]+)"
                    r"| --out[= ]([a-z][\w-]*)")
PLUGIN = re.compile(r"\./waf plugin (\w+)\.cc")


def outputs_of(text):
    """Yields the line number and the path of each output."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in PLUGIN.finditer(line):
            yield number, match[1] + ".so"
        if COMMAND.search(line):
            for match in OUTPUT.finditer(line):
                path = match[1] or match[2]
                if not re.search(r"\b[A-Z]{2,}\b", path):
                    yield number, path


def is_ignored(root, path):
    return subprocess.run(["git", "check-ignore", "-q", path], cwd=root).returncode == 0


def self_test():
    lines = ["./waf --run legacy-network --csv=s.csv --out=runs/a", "    legacy-data --out sheet",
             "./waf --run legacy-study run FILE --out=DIR --csv=-", "--out=prose",
             "./waf plugin a.cc",
             "    legacy-calibrate --out profiles/NAME.json"]
    found = list(outputs_of("\n".join(lines)))
    wanted = [(1, "s.csv"), (1, "runs/a"), (2, "sheet"), (5, "a.so")]
    assert found == wanted, found


def main():
    root = pathlib.Path(sys.argv[1])
    self_test()
    if not (root / ".git").exists():
        return 77
    known = {}
    count = 0
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        if page.parent.name == "options":
            continue
        for number, path in outputs_of(page.read_text(encoding="utf-8")):
            count += 1
            if path not in known:
                known[path] = is_ignored(root, path)
            if not known[path]:
                print(f"{page.relative_to(root)}:{number}: git does not ignore {path}")
    if count == 0:
        print("no outputs were found")
    return 1 if count == 0 or not all(known.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
