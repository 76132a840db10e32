#!/bin/sh
# No GPU kernel was compiled to a trap, as nvcc does without a word where device code reads a constant array of the host:
#   traps.sh ROOT     (77: skipped, there is no nvcc)
set -eu
cd "$1"
command -v nvcc >/dev/null || { echo 'skipped: nvcc is not installed' && exit 77; }

ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
status=0
for source in compress/cuda/*.cu; do
  nvcc -std=c++20 --expt-relaxed-constexpr -fmad=false -arch=compute_90 -I. -ptx "$source" -o "$ptx"
  if grep -q 'trap;' "$ptx"; then
    echo "$source: a kernel traps; device code may use a constant array of the host" && status=1
  fi
done
exit $status
