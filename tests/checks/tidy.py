#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy has the checks) on the sources of a build: tidy.py BUILD [FOLDER...]

FOLDERs are of the source tree (default: all but tests). Each compilation of the build is checked
once with all sources that it includes, so unity builds make this fast. Exits with 1 if anything is
found. JOBS in the environment: how many run at once (default: 1).
"""

import json
import multiprocessing.pool
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sources_of(path):
    """Returns the sources that a compilation of `path` reads, as paths in the tree."""
    paths = [path]
    if "/Unity/unity_" in str(path):
        paths = map(pathlib.Path, re.findall(r'#include "(/.*)"', path.read_text()))
    return [source.relative_to(ROOT) for source in paths if source.is_relative_to(ROOT)]


def compilations(build, folders):
    """Returns the files to check, those with most sources first. Sources that are compiled again
    for a test are left out, and those with LibTorch's headers, which Clang 14 does not compile."""
    database = json.loads((build / "compile_commands.json").read_text())
    files = {pathlib.Path(entry["file"]) for entry in database
             if "torch" not in entry["command"].lower()
             and (folders == ["tests"] or " -o tests/" not in entry["command"])}
    chosen = []
    for file in sorted(files):
        sources = [str(source) for source in sources_of(file) if source.suffix != ".cu"]
        wanted = [source for source in sources if not source.startswith("build/") and
                  (any(source.startswith(folder + "/") for folder in folders) if folders
                   else not source.startswith("tests/"))]
        if wanted:
            chosen.append((len(wanted), file))
    return [file for _, file in sorted(chosen, key=lambda one: -one[0])]


def check(build, file):
    """Returns what clang-tidy finds in one file."""
    # Clang does not know GCC's own warnings; these messages are not findings.
    command = ["clang-tidy", "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-Wno-unused-command-line-argument", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def main(build, folders):
    files = compilations(build.resolve(), [folder.rstrip("/") for folder in folders])
    if not files:
        print(f"tidy: no sources of {build} are in {', '.join(folders)}", file=sys.stderr)
        return 1
    pool = multiprocessing.pool.ThreadPool(int(os.environ.get("JOBS", "1")))
    found = 0
    for number, text in enumerate(pool.imap(lambda file: check(build, file), files), 1):
        print(f"\r{number} of {len(files)} ", end="", file=sys.stderr)
        print(text, end="", flush=True)
        found += bool(text)
    print(file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
