#!/usr/bin/env python3
"""Checks that no line of prose in Markdown, of a script or of a CMake file is longer than 100
columns: columns.py ROOT

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


def long_lines(text):
    """Yields the numbers of all long lines."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS:
            yield number


def rule_for(path):
    """Returns how the file is checked, or None."""
    if path.suffix == ".md":
        return None if path.parent.name == "options" else long_prose
    named = path.suffix in (".py", ".sh", ".cmake") or path.name == "CMakeLists.txt"
    script = not path.suffix and path.read_bytes()[:2] == b"#!"
    return long_lines if named or script else None


def main(root):
    tops = [path for path in sorted(root.iterdir()) if path.name not in LEFT_OUT]
    files = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    found = [f"{path.relative_to(root)}:{line}: longer than {COLUMNS} columns"
             for path in files if path.is_file() and (rule := rule_for(path))
             for line in rule(path.read_text(encoding="utf-8"))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
