#!/bin/sh
# Checks that no GPU kernel was compiled to a trap, which nvcc does silently if device code reads a
# constant array of the host. BUILD was configured with -DLEGACY_CUDA=ON
# -DCMAKE_CUDA_FLAGS=--no-compress:
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
[ "$kernels" -gt 0 ] || { echo "$1: no PTX of a kernel is there as text" && exit 1; }
exit $status
