#!/usr/bin/env python3
"""Checks that docs/check_figures finds outdated figures and malformed comments.

Usage: figures_test.py CHECK_FIGURES
"""
import pathlib
import subprocess
import sys
import tempfile

PAGE = """<!-- figures: printf 'time  1.00\\nbytes 20\\n' | commit 0123abc{within} -->

```
time 1.00
...
bytes {bytes}
```
"""


def run(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.argv[1], *options, str(page)], text=True, capture_output=True,
                              check=False)
    return done.returncode, done.stdout + done.stderr


def expect(what, text, status, says="", options=()):
    result, output = run(text, *options)
    if result != status or says not in output:
        sys.exit(f"{what}: expected {status} and '{says}', got {result} and:\n{output}")


def expect_written(text, line):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(text, encoding="utf-8")
        subprocess.run([sys.argv[1], "--write", str(page)], check=True, capture_output=True)
        written = page.read_text(encoding="utf-8")
    if line not in written.split("\n") or written.count("```") != text.count("```"):
        sys.exit(f"written figures: expected the line '{line}', got:\n{written}")


expect("equal figures", PAGE.format(within="", bytes=20), 0)
expect("a figure that moved", PAGE.format(within="", bytes=21), 1, "not printed now: bytes 21")
expect("one within its bound", PAGE.format(within=" | within 10 %", bytes=21), 0)
expect("one beyond it", PAGE.format(within=" | within 1 %", bytes=21), 1, "bytes 21")
QUOTATION = """<!-- figures: printf 'so:\\nis first on 1Gbps\\n' | commit 0123abc -->

> is first on
> 1Gbps
"""
expect("a quotation", QUOTATION, 0)
expect("a quotation that moved", QUOTATION.replace("> 1", "> 9"), 1, "now: > is first on 9Gbps")
PROGRAM = """<!-- figures: ./waf --run echo a; ls | commit 0123abc -->
```
a
```
"""
expect("a program of a build, in an empty folder", PROGRAM, 0, options=["--build", "/"])
TABLE = """<!-- figures: cat table | commit 0123abc | before wall -->
```
name  bytes    wall
---
a        20  {wall}

the end
```
```text title="table"
name  bytes  wall
a        {bytes}   1 s

the end
```
"""
for there, status in (20, 0), (21, 1):
    expect("a file, and a table up to a column", TABLE.format(bytes=there, wall="0.05 s"), status,
           "not printed now: a        20\n" if status else "", ["--build", "/"])
expect_written(PAGE.format(within="", bytes=21), "bytes 20")
expect_written(QUOTATION.replace("> 1", "> 9"), "> is first on 1Gbps")
expect("other commands", PAGE.format(within="", bytes=21), 0, options=["--only", "legacy"])
expect("a list runs nothing", PAGE.format(within="", bytes=21), 0, "commit 0123abc", ["--list"])
expect("no commit", "<!-- figures: true -->\n```\n1\n```\n", 1,
       "allowed: <!-- figures: COMMAND | commit HASH -->")
expect("no block", "<!-- figures: true | commit 0123abc -->\ntext\n", 1, "no fenced block")
