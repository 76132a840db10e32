#!/bin/sh
# Checks that no word is misspelt (.codespellrc has the exceptions), and that texts have the
# field's words, not those of a former dialect:  spelling.sh ROOT
# Exits with 77 (skipped) without codespell.
set -eu
cd "$1"
old='goes on|go on|going on|went on|gone on|anew'
if grep -rnwiE "$old" --include='*.cc' --include='*.h' --include='*.cuh' --include='*.md' \
  --include='*.py' --include='*.js' --include='*.rst' --exclude-dir=build --exclude-dir=.git .; then
  echo 'spelling: say "continue" or "again" in these lines'
  exit 1
fi
command -v codespell >/dev/null || { echo 'skipped: codespell is not installed' && exit 77; }
codespell
