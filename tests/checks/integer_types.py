#!/usr/bin/env python3
"""Finds sources that name int64_t and its like without <cstdint>: integer_types.py ROOT

It must be included by the source or by a header of ours that it includes. Some standard headers
include it with one compiler and not with the next (GCC 13 dropped it from <string>), so that what
builds here would not build there. Headers of LibTorch and ns-3 have it.
"""

import pathlib
import re
import sys

FOLDERS = ("analysis", "base", "compress", "ns3-module", "scenarios", "tests", "trainer")
ENDINGS = (".h", ".cc", ".cu", ".cuh")
QUOTED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
HAS = re.compile(r'^\s*#\s*include\s+(<cstdint>|<(torch|ATen|c10)/|["<]ns3/)', re.MULTILINE)
USES = re.compile(r"(?<!\w)u?int(8|16|32|64)_t(?!\w)")


def main(root):
    text = {path: re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
            if path.suffix in ENDINGS and path.is_file()}

    def included(path):
        for name in QUOTED.findall(text[path]):
            for folder in (root, path.parent, root / "ns3-module"):
                if folder / name in text:
                    yield folder / name
                    break

    def has(path, seen):
        seen.add(path)
        return bool(HAS.search(text[path])) or any(
            has(other, seen) for other in included(path) if other not in seen)

    wrong = [path for path in text if USES.search(text[path]) and not has(path, set())]
    for path in wrong:
        print(f"{path.relative_to(root)} needs <cstdint>")
    return 1 if wrong or not text else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
