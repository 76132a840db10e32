#!/bin/sh
# Checks that programs start without LibTorch, which takes half a second to load:
#   starts.sh PROGRAM ...
set -eu
for program; do
  if ldd "$program" | grep -q libtorch; then
    echo "$program: loads LibTorch before it is asked to train" && exit 1
  fi
done
