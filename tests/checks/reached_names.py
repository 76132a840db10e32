#!/usr/bin/env python3
"""Finds sources that do not reach the header of what they use: reached_names.py ROOT

A type or function that headers declare at namespace scope stands in the file that uses it, or in a
header that this file includes, directly or through others. Sources are compiled in batches, in
which one may live on what another one includes, until a batch changes. Names are looked for as
words: a name that some reached header has for something else is not found.
"""

import collections
import pathlib
import re
import sys

import sources
from type_names import declarations, without_text

MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", re.MULTILINE)
USE = re.compile(r"(?<![\w.>])(?<!\btemplate )(?:(\w+)::)?([A-Z]\w*[a-z]\w*)")
TEST = re.compile(r"\b(?:TEST|INSTANTIATE_TEST)\w*\(\s*\w+,\s*\w+")
# What declares NAME in the file itself: a type, a function, an enumerator, a variable.
OWN = (r"\b(?:class|struct|enum|using|typename|auto)\s+(?:class\s+)?NAME\b"
       r"|(?:[\w>&*\])]\s|^\s+)[&*]*(?:\w+::)*NAME[(;]|[{,]\s*NAME\s*[,=}]")


def room(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else parts[0]


class Files:
    """The sources of a tree."""

    def __init__(self, root):
        texts = sources.read(root)
        self.includes = sources.Includes(texts)
        self.texts, self.words = {}, {}
        self.declared = collections.defaultdict(set)  # name: headers
        self.namespaces = {None}
        self.rooms = collections.defaultdict(set)  # room: rooms of which it includes headers
        for path, source in texts.items():
            self.add(path, source)
            self.rooms[room(path)].update(map(room, self.includes.of[path]))

    def add(self, path, source):
        text = without_text(source)
        self.texts[path] = TEST.sub(" ", text)
        self.words[path] = set(re.findall(r"\w+", text + " ".join(MACRO.findall(source))))
        if path.endswith((".h", ".cuh")):
            for namespace, name in declarations(source):
                self.declared[name].add(path)
                self.namespaces.update(namespace.split("::"))

    def missing(self, path):
        """Yields names that a file uses, and the headers of which it reaches none."""
        text = self.texts[path]
        near = set().union(*(self.words[header] for header in self.includes.reached(path)))
        used = {name for scope, name in USE.findall(text) if (scope or None) in self.namespaces}
        for name in sorted((used & self.declared.keys()) - near):
            headers = {header for header in self.declared[name]
                       if room(header) in self.rooms[room(path)]}
            if headers and path not in self.declared[name] and not re.search(
                    OWN.replace("NAME", name), text, re.MULTILINE):
                yield name, sorted(headers)


def main(root):
    files = Files(root)
    found = [(path, *fault) for path in files.texts for fault in files.missing(path)]
    for path, name, headers in found:
        print(f"{path} uses {name} and includes no header of it: {' or '.join(headers)}")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
