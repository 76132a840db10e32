#!/bin/sh
# Checks that clang-format would change no C++ source:  format.sh ROOT
# Exits with 77 (skipped) without clang-format.
set -eu
cd "$1"
command -v clang-format >/dev/null || { echo 'skipped: clang-format is not installed' && exit 77; }

find analysis base compress ns3-module scenarios tests trainer -type f \
  \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print |
  sort | xargs clang-format --style=file --dry-run --Werror
