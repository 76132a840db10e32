#!/bin/sh
# Checks that no word is misspelt (.codespellrc has the exceptions):  spelling.sh ROOT
# Exits with 77 (skipped) without codespell.
set -eu
cd "$1"
command -v codespell >/dev/null || { echo 'skipped: codespell is not installed' && exit 77; }
codespell
