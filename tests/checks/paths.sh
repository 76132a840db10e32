#!/bin/sh
# Checks that no file names a folder of its author's machine:  paths.sh ROOT
set -eu
cd "$1"

found=$(find . \( -path ./build -o -path ./runs -o -path ./.git \) -prune -o -type f -exec \
  grep -nIE '(^|[^A-Za-z0-9_.}-])/(home|root|work|Users|mnt)/[A-Za-z]' {} + || true)
[ -z "$found" ] || { printf '%s\n' "$found" && exit 1; }
