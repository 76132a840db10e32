#!/usr/bin/env python3
"""Checks that no line of prose in Markdown, of a script or of a CMake file is longer than 100
columns, and that code in Markdown stands between fences: columns.py ROOT

In Markdown, tables, code, pictures, comments and lines with a web address are left out, and so is
the page of all options, which the programs print. clang-format wraps C++.
"""

import pathlib
import re
import sys

COLUMNS = 100
FREE = re.compile(r"^(\||    |<!--| *!\[)|https?:")
LEFT_OUT = ("build", "runs", "studies", ".git")


def long_prose(text):
    """Yields the numbers of the long lines of prose in Markdown."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r" *```", line):
            code = not code
        elif not code and len(line) > COLUMNS and not FREE.search(line):
            yield number


def broken_fences(text):
    """Yields the numbers of lines with a fence and other text, and of the last one without an end.
    """
    last = 0
    for number, line in enumerate(text.splitlines(), 1):
        if "```" not in line:
            continue
        if not re.fullmatch(r" *```([a-z0-9]*( title=\"[^\"]+\")?)?", line):
            yield number
        last = 0 if last else number
    if last:
        yield last


def long_lines(text):
    """Yields the numbers of all long lines."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS:
            yield number


def rules_for(path):
    """Returns how the file is checked: what is wrong with the lines that a function yields."""
    long = f"longer than {COLUMNS} columns"
    if path.suffix == ".md":
        printed = path.parent.name == "options"
        fences = {"code and text in one line, or a fence without an end": broken_fences}
        return fences if printed else {long: long_prose, **fences}
    named = path.suffix in (".py", ".sh", ".cmake") or path.name == "CMakeLists.txt"
    script = not path.suffix and path.read_bytes()[:2] == b"#!"
    return {long: long_lines} if named or script else {}


def main(root):
    tops = [path for path in sorted(root.iterdir()) if path.name not in LEFT_OUT]
    files = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    found = [f"{path.relative_to(root)}:{line}: {wrong}"
             for path in files if path.is_file() for wrong, rule in rules_for(path).items()
             for line in rule(path.read_text(encoding="utf-8"))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
