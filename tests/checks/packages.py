#!/usr/bin/env python3
"""Checks that each program, library and module that is installed is in one Debian package, and that
the packages name nothing else: packages.py DEBIAN PREFIX

Libraries of CUDA are in none.
"""
import pathlib
import sys

debian, prefix = (pathlib.Path(argument) for argument in sys.argv[1:])
CUDA = {"liblegacy_nccl.so"}
MANUAL = "usr/share/man/"  # made by help2man

packages = {}
for path in sorted(debian.glob("*.install")):
    for line in path.read_text(encoding="utf-8").split():
        if not line.startswith(MANUAL):
            packages.setdefault(line.rsplit("/", 1)[-1], []).append(path.stem)
installed = {path.name for folder in ("bin", "lib") for path in (prefix / folder).glob("*")
             if path.is_file() and path.suffix in ("", ".so")} - CUDA
wrong = [f"{name} is installed, and in no package" for name in sorted(installed - set(packages))]
named = {name for name in packages if name.startswith(("legacy-", "liblegacy"))}
wrong += [f"{name} is in {packages[name][0]}, and not installed"
          for name in sorted(named - installed)]
wrong += [f"{name} is in {' and '.join(packages[name])}" for name in sorted(named)
          if len(set(packages[name])) > 1]
print("\n".join(wrong))
sys.exit(1 if wrong or not installed else 0)
