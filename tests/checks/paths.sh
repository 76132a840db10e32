#!/bin/sh
# No file names a folder of its author's machine, and none is meant for a machine only:  paths.sh ROOT
set -eu
cd "$1"

found=$(find . \( -path ./build -o -path ./runs -o -path ./.git \) -prune -o -type f -exec \
  grep -nIE '(^|[^A-Za-z0-9_.}-])/(home|root|work|Users|mnt)/[A-Za-z]' {} + || true)
[ -z "$found" ] || { printf '%s\n' "$found" && exit 1; }
