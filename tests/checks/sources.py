"""The project's sources and what they include, for checks."""

import pathlib
import re

FOLDERS = ("analysis", "base", "compress", "ns3-module", "scenarios", "tests", "trainer")
ENDINGS = (".h", ".cc", ".cu", ".cuh")
QUOTED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def read(root):
    """Returns the texts of all sources by their paths from `root`, in order."""
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
            if path.suffix in ENDINGS and path.is_file()}


class Includes:
    """Which of these sources include which, by their paths."""

    def __init__(self, texts):
        self.of = {path: [found for name in QUOTED.findall(text)
                          if (found := self._find(texts, path, name))]
                   for path, text in texts.items()}

    @staticmethod
    def _find(texts, path, name):
        beside = str(pathlib.PurePosixPath(path).parent / name)
        return next((file for file in (name, beside, "ns3-module/" + name) if file in texts), None)

    def reached(self, path):
        """Returns the headers that a file includes, directly or through others."""
        seen, todo = set(), list(self.of[path])
        while todo:
            header = todo.pop()
            if header not in seen:
                seen.add(header)
                todo += self.of[header]
        return seen
