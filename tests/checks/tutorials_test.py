#!/usr/bin/env python3
"""Follows a tutorial in a temporary folder, and compares the output of its commands.

    tutorials_test.py BUILD PAGE        BUILD: build/PROFILE of this tree; PAGE: docs/tutorials/*.md
    tutorials_test.py BUILD PAGE --show prints the output of each block instead of comparing
    tutorials_test.py BUILD PAGE --write puts numbers that are printed now into the page, in lines
                                        that are otherwise the same
    tutorials_test.py --self-test

Blocks of a page, in their order:

    ```yaml title="study.yaml"   a file of any language, which is written
    ```sh                        commands of a POSIX shell, which stops at the first failure
    <!-- fails -->               above such a block: its last command must fail
    ```text                      output of the block of commands above, of both streams

Text must agree line by line, except for runs of blanks and empty lines. A line `...` stands for any
number of lines, and `...` in a line for any text, such as a measured time.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEM_PYTHON = "/usr/bin/python3"  # the interpreter that Debian's packages are made for
SKIPPED = 77  # exit status that ctest shows as skipped
FENCE = re.compile(r'^```(?P<language>\w*)(?: title="(?P<title>[\w.-]+)")?$')
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"


class Block:
    def __init__(self, line, language, title, fails):
        self.line, self.language, self.title, self.fails = line, language, title, fails
        self.lines = []


def read_blocks(text):
    blocks, open_block, before = [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if open_block is not None:
            if line == "```":
                blocks.append(open_block)
                open_block = None
            else:
                open_block.lines.append(line)
        elif line.startswith("```"):
            match = FENCE.match(line)
            if not match:
                raise ValueError(f"line {number}: got '{line}'; "
                                 "allowed: ```LANGUAGE, ```LANGUAGE title=\"FILE\"")
            open_block = Block(number, match["language"], match["title"],
                               before == "<!-- fails -->")
        if line:
            before = line
    if open_block is not None:
        raise ValueError(f"line {open_block.line}: the block has no end")
    return blocks


def squeezed_line(line):
    return " ".join(line.split())


def squeezed(lines):
    return [words for line in lines if (words := squeezed_line(line))]


def pattern_of(line, any_number=False):
    """Returns the regular expression of a line of the page; with `any_number` its numbers are
    groups that match all numbers."""
    pattern, end = "", 0
    for special in re.finditer(r"\.\.\." + f"|{NUMBER}" * any_number, line):
        pattern += re.escape(line[end:special.start()])
        pattern += ".*" if special[0] == "..." else f"({NUMBER})"
        end = special.end()
    return re.compile(pattern + re.escape(line[end:]))


def rewritten(shown, printed):
    """Returns lines of the page with the numbers of the first printed lines that are of their
    kind, in their order."""
    lines, place = [], 0
    for line in shown:
        here = range(place, len(printed))
        words = " ".join(line.split())
        found = None
        if words not in ("", "..."):
            for any_number in (False, True):
                pattern = pattern_of(words, any_number)
                if found is None:
                    found = next((i for i in here if pattern.fullmatch(squeezed_line(printed[i]))),
                                 None)
        if found is not None:
            place = found + 1
            if not pattern_of(words).fullmatch(squeezed_line(printed[found])):
                line = with_numbers(line, words, printed[found])
        lines.append(line)
    return lines


def with_numbers(line, words, printed):
    if "..." not in words:
        return printed.rstrip()
    numbers = iter(pattern_of(words, True).fullmatch(squeezed_line(printed)).groups())
    return re.sub(r"\.\.\." + f"|{NUMBER}",
                  lambda match: match[0] if match[0] == "..." else next(numbers), line)


def first_difference(shown, printed):
    """Returns the first line of `shown` that differs from `printed`; None if all agree."""
    printed = squeezed(printed)
    place, skipping = 0, False
    shown = squeezed(shown)
    for index, line in enumerate(shown):
        if line == "...":
            skipping = True
            continue
        pattern = pattern_of(line)
        # After "...", the text continues at the first line that agrees, or at the end if no "..."
        # follows.
        while skipping and place < len(printed) and not pattern.fullmatch(printed[place]):
            place += 1
        if place == len(printed) or not pattern.fullmatch(printed[place]):
            return line
        place, skipping = place + 1, False
    return None if skipping or place == len(printed) else f"(the end; then comes: {printed[place]})"


def make_launcher(folder, build):
    """Writes a waf into a tutorial's folder, which runs the build's programs, and for everything
    else the tree's waf."""
    waf = folder / "waf"
    waf.write_text(f"""#!/bin/sh
if [ "$1" = --run ]; then
  program=$2
  shift 2
  exec '{build}/bin/'"$program" "$@"
fi
exec '{ROOT}/waf' --no-install --profile='{build.name}' "$@"
""")
    waf.chmod(0o755)


def environment(folder, build):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEGACY_")}
    return kept | {"LEGACY_DATA": str(folder / "no-data"), "OMP_WAIT_POLICY": "passive",
                   "PYTHONPATH": str(build / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def run_page(page, build, show, write):
    """Follows a page; returns the differences as lines of text."""
    text = page.read_text(encoding="utf-8").split("\n")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="legacy-tutorial-"))
    failures, printed, compared = [], None, 0
    try:
        make_launcher(folder, build)
        for block in read_blocks(page.read_text(encoding="utf-8")):
            place = f"{page.relative_to(ROOT)}:{block.line}"
            if block.title:
                (folder / block.title).write_text("\n".join(block.lines) + "\n")
            elif block.language == "sh":
                result = subprocess.run(["sh", "-eu", "-c", "\n".join(block.lines)], cwd=folder,
                                        env=environment(folder, build),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT,
                                        text=True, check=False)
                # Only slow machines print how long a run takes.
                printed = [line for line in result.stdout.splitlines()
                           if not line.startswith("This takes about ")]
                if show:
                    print(f"== {place}: status {result.returncode}\n" + result.stdout)
                if (result.returncode != 0) != block.fails:
                    failures += [f"{place}: status {result.returncode}; it printed"] + printed[-30:]
                    break  # later blocks depend on this one
            elif block.language == "text":
                if printed is None:
                    raise ValueError(f"{place}: no block of commands stands above")
                if write:
                    end = block.line + len(block.lines)
                    text[block.line:end] = rewritten(block.lines, printed)
                    block.lines = text[block.line:end]
                line = first_difference(block.lines, printed)
                if line is not None:
                    failures += [f"{place}: the page shows", f"  {line}",
                                 "where the commands printed"] + printed
                printed, compared = None, compared + 1
    finally:
        shutil.rmtree(folder)
    if write:
        page.write_text("\n".join(text), encoding="utf-8")
    if compared == 0:
        failures.append(f"{page}: it shows no output")
    return failures


def has_torch():
    return subprocess.run([SYSTEM_PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def self_test():
    def differs(shown, printed):
        return first_difference(shown.splitlines(), printed.splitlines()) is not None

    assert not differs("a  1\nb", "a 1\n\n  b")
    assert differs("a", "a\nb") and differs("a\nb", "a")
    assert differs("a 1", "a 2") and differs("a", "ab")
    assert not differs("...\nb\n...", "a\nb\nc") and not differs("a\n...", "a")
    assert not differs("...\nc", "a\nb\nc")
    assert differs("...\nc\nb", "b\nc") and differs("...\na", "a\nb")
    assert differs("a\nc\n...", "a\nb\nc")
    assert differs("took ~1.2 ms", "took 1.2 ms")
    assert not differs("a ... 1", "a b c 1") and differs("a ... 1", "a b c 2")
    assert rewritten(["a  1 ...", "", "...", "b 2", "c 3"], ["a 5 x", "b   -7e+3", "d 4"]) == [
        "a  5 ...", "", "...", "b   -7e+3", "c 3"]
    blocks = read_blocks('<!-- fails -->\n\n```sh\nfalse\n```\n```yaml title="a.yaml"\nb: 1\n```\n')
    assert blocks[0].fails and blocks[0].lines == ["false"]
    assert blocks[1].title == "a.yaml" and not blocks[1].fails
    for bad in ("```sh\nls", "``` title\n```"):
        try:
            read_blocks(bad)
        except ValueError:
            continue
        raise AssertionError(bad)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    show, write = sys.argv[3:] == ["--show"], sys.argv[3:] == ["--write"]
    if len(sys.argv) != 3 and not show and not write:
        return sys.exit(__doc__)
    build, page = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    if "import torch" in page.read_text(encoding="utf-8") and not has_torch():
        print(f"skipped: {page.name} needs PyTorch (python3-torch)")
        return sys.exit(SKIPPED)
    if "import legacy" in page.read_text(encoding="utf-8") and not (build / "python").is_dir():
        print(f"skipped: {page.name} needs the Python module (./waf python)")
        return sys.exit(SKIPPED)
    failures = run_page(page, build, show, write)
    if failures and not show:
        print("\n".join(failures))
        return sys.exit(1)


if __name__ == "__main__":
    main()
