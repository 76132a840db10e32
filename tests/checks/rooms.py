#!/usr/bin/env python3
"""Checks the folders of sources against docs/ARCHITECTURE.md:  rooms.py ROOT

Folders may not include each other in a ring of any length. In the table of folders, a row that may
include "all of the above" includes no folder whose row is below it. Each folder of sources is named
on that page.
"""

import pathlib
import re
import sys

import sources

PAGE = "docs/ARCHITECTURE.md"


def folder_of(path):
    return str(pathlib.PurePosixPath(path).parent)


def edges_of(texts):
    """Returns, for each folder, the folders that it includes, each with the first such line."""
    includes = sources.Includes(texts)
    edges = {}
    for path in texts:
        if path.startswith("tests/"):
            continue
        mine = edges.setdefault(folder_of(path), {})
        for header in includes.of[path]:
            if folder_of(header) != folder_of(path):
                mine.setdefault(folder_of(header), f"{path} includes {header}")
    return edges


def ring_in(edges):
    """Returns the folders of one ring in order, or nothing."""
    done, way = set(), []

    def follow(folder):
        if folder in way:
            return way[way.index(folder):]
        if folder in done:
            return []
        way.append(folder)
        for other in edges.get(folder, {}):
            if ring := follow(other):
                return ring
        way.pop()
        done.add(folder)
        return []

    return next((ring for folder in edges if (ring := follow(folder))), [])


def rows_of(page):
    """Returns (folder, what it may include) for each row of the table of folders."""
    rows = re.findall(r"^\| `([\w/{},-]+)/`[^|]*\|[^|\n]*\|([^|\n]*)\|$", page, re.MULTILINE)
    return [(name, allowed.strip()) for name, allowed in rows]


def row_of(folder, names):
    """Returns the position of the row that a folder belongs to: the nearest one around it."""
    around = [i for i, name in enumerate(names) if (folder + "/").startswith(name + "/")]
    return max(around, key=lambda i: len(names[i]), default=None)


def upwards(edges, rows):
    """Yields a message for each include of a folder whose row is below one of all above."""
    names = [name for name, _ in rows]
    for folder, others in edges.items():
        row = row_of(folder, names)
        if row is None or not rows[row][1].startswith("all of the above"):
            continue
        for other, line in others.items():
            below = row_of(other, names)
            if below is not None and below > row:
                yield f"{line}: {PAGE} has {names[below]}/ below {names[row]}/"


def unnamed(edges, page):
    """Yields a message for each folder of sources that the page does not name."""
    for folder in sorted(edges):
        parts = pathlib.PurePosixPath(folder).parts
        if not re.search(r"[`/,{]" + re.escape(parts[-1]) + r"[/,}`]", page):
            yield f"{folder}/: {PAGE} does not say what it holds"


def main(root):
    texts = sources.read(root)
    edges = edges_of(texts)
    messages = []
    if ring := ring_in(edges):
        messages.append(f"{'/, '.join(ring)}/ include each other in a ring:")
        messages += ["  " + edges[a][b] for a, b in zip(ring, ring[1:] + ring[:1])]
    if (root / PAGE).exists():
        page = (root / PAGE).read_text(encoding="utf-8")
        messages += upwards(edges, rows_of(page))
        messages += unnamed(edges, page)
    print("\n".join(messages), end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
