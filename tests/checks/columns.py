"""No line of prose in Markdown, or of a CMake file, is longer than 100 columns: columns.py ROOT

In Markdown, tables, code, pictures, comments and lines with an address of the web are left out, and
so is the page of all options, which the programs print. clang-format wraps C++.
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


def cmake_files(root):
    files = [path for name in ("CMakeLists.txt", "*.cmake") for path in sorted(root.rglob(name))]
    return [path for path in files if path.relative_to(root).parts[0] not in ("build", ".git")]


def main(root):
    pages = [page for folder in ("docs", "ns3-module", "compress", ".github")
             for page in (root / folder).rglob("*.md")]
    pages = [page for page in pages if page.name != "options.md"] + sorted(root.glob("*.md"))
    found = [f"{page.relative_to(root)}:{line}: longer than {COLUMNS} columns"
             for page in pages for line in long_lines(page.read_text(encoding="utf-8"))]
    found += [f"{path.relative_to(root)}:{number}: longer than {COLUMNS} columns"
              for path in cmake_files(root)
              for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
              if len(line) > COLUMNS]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
