"""No line of prose in a Markdown file is longer than 100 columns: columns.py ROOT

Tables, code, pictures, comments and lines with an address of the web are left out, and so is the
page of all options, which the programs print. clang-format sees to C++.
"""

import pathlib
import re
import sys

COLUMNS = 100
FREE = re.compile(r"^(\||    |<!--| *!\[)|https?:")


def long_lines(text):
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r" *```", line):
            code = not code
        elif not code and len(line) > COLUMNS and not FREE.search(line):
            yield number


def main(root):
    pages = [page for folder in ("docs", "ns3-module", "compress", ".github") for page in (root / folder).rglob("*.md")]
    pages = [page for page in pages if page.name != "options.md"] + sorted(root.glob("*.md"))
    found = [f"{page.relative_to(root)}:{line}: longer than {COLUMNS} columns"
             for page in pages for line in long_lines(page.read_text(encoding="utf-8"))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
