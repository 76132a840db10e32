#!/usr/bin/env python3
"""Finds sources that name int64_t and its like without <cstdint>: integer_types.py ROOT

It must be included by the source or by a header of ours that it includes. Some standard headers
include it with one compiler and not with the next (GCC 13 dropped it from <string>), so that what
builds here would not build there. Headers of LibTorch and ns-3 have it.
"""

import pathlib
import re
import sys

import sources

HAS = re.compile(r'^\s*#\s*include\s+(<cstdint>|<(torch|ATen|c10)/|["<]ns3/)', re.MULTILINE)
USES = re.compile(r"(?<!\w)u?int(8|16|32|64)_t(?!\w)")


def main(root):
    texts = {path: re.sub(r"//[^\n]*", "", text) for path, text in sources.read(root).items()}
    includes = sources.Includes(texts)
    has = {path for path, text in texts.items() if HAS.search(text)}
    wrong = [path for path, text in texts.items()
             if USES.search(text) and path not in has and not includes.reached(path) & has]
    for path in wrong:
        print(f"{path} needs <cstdint>")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
