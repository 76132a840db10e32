#!/bin/sh
# Checks that what is linked together may be passed on together:  licences.sh FILE...
# ns-3 is GPL-2.0-only, which excludes parts under the Apache License 2.0: LibTorch's (oneDNN, ONNX,
# OpenCV) and OpenSSL 3. No program or module may load both.
set -eu
status=0
[ $# -gt 0 ] || { echo "no file was given" >&2 && exit 2; }
both=0
for file in "$@"; do
  loads=$(ldd "$file" | awk '{ print $1 }')
  ns3=$(echo "$loads" | grep -c '^libns3' || true)
  apache=$(echo "$loads" | grep -E '^lib(torch|c10|dnnl|onnx|opencv|ssl|crypto)' || true)
  [ "$ns3" = 0 ] || both=1
  if [ "$ns3" != 0 ] && [ -n "$apache" ]; then
    echo "$file loads ns-3 and" $apache
    status=1
  fi
done
[ "$both" = 1 ] || { echo "none of these files loads ns-3: nothing was checked" && exit 1; }
exit "$status"
