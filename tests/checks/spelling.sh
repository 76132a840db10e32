#!/bin/sh
# No word is misspelt (.codespellrc has the exceptions):  spelling.sh ROOT     (77: skipped, there is no codespell)
set -eu
cd "$1"
command -v codespell >/dev/null || { echo 'skipped: codespell is not installed' && exit 77; }
codespell
