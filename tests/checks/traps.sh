#!/bin/sh
# Checks that no GPU kernel was compiled to a trap, which nvcc does silently if device code reads a
# constant array of the host, and that none calls functions that nvcc silently drops. BUILD was
# configured with -DLEGACY_CUDA=ON -DCMAKE_CUDA_FLAGS=--no-compress:
#   traps.sh BUILD
set -eu
kernels=0
status=0
for object in $(find "$1/compress/cuda/CMakeFiles/legacy_cuda.dir" -name '*.o'); do
  here=$(grep -ac '\.visible \.entry' "$object" || true)
  kernels=$((kernels + here))
  if grep -aq 'trap;' "$object"; then
    echo "${object##*/}: a kernel traps; device code may use a constant array of the host"
    status=1
  fi
done
# The functions of <bit> that nvcc silently makes constants of
# (compress/cuda/kernels/coding/bits.h).
# Tables are made on the host.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
wrong='count[lr]_one|countr_zero|std::rot[lr]'
wrong="$wrong|(bit_width|popcount|countl_zero)[({](static_cast<)?u?int64"
for folder in compress/cuda/device compress/cuda/kernels trainer/cuda compress/message.h; do
  ! grep -rnE "$wrong" "$root/$folder" | grep -v '_table.h:\|//' || status=1
done
[ "$status" = 0 ] || echo 'device code calls a function of <bit> that nvcc does not know'
[ "$kernels" -gt 0 ] || { echo "$1: no PTX of a kernel is there as text" && exit 1; }
exit $status
