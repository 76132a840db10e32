#!/bin/sh
# Checks that programs start without LibTorch, which takes half a second to load:
#   starts.sh PROGRAM ...
set -eu
for program; do
  libraries=$(ldd "$program")  # fails if there is no such program
  case $libraries in
    *libtorch*) echo "$program: loads LibTorch before it is asked to train" && exit 1 ;;
  esac
done
