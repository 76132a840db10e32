#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds this folder as a contrib module of an ns-3 source tree, runs its suites and examples there,
# and prints the outcome. The module has the name of the folder, or is legacy in the project.
#   try-in-ns3-tree.sh NS3_TREE [PROFILE]
# PROFILE is optimized (if none is given), default or debug. JOBS sets the number of compilers at
# once (1). Only the modules that this one needs are built.
set -eu
[ $# -ge 1 ] && [ -x "$1/ns3" ] || { echo "usage: $0 NS3_TREE [PROFILE]" >&2 && exit 2; }
module=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
name=$(basename "$module")
[ "$name" != ns3-module ] || name=legacy
cd "$1"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failures=0

# step WHAT COMMAND...: prints a line with the outcome, and the whole output after a failure.
step() {
  what=$1
  shift
  if "$@" >"$log" 2>&1; then
    echo "ok      $what"
  else
    echo "FAILED  $what: $*" && cat "$log"
    failures=$((failures + 1))
    return 1
  fi
}

[ -e "contrib/$name" ] || ln -s "$module" "contrib/$name"
[ "$(CDPATH='' cd "contrib/$name" && pwd -P)" = "$(cd "$module" && pwd -P)" ] || {
  echo "$1/contrib/$name is another folder than $module" >&2 && exit 2
}
echo "ns-3 $(cat VERSION), $(${CXX:-c++} --version | head -n 1), profile ${2:-optimized}"
step configure ./ns3 configure -d "${2:-optimized}" --enable-tests --enable-examples \
  "--enable-modules=$name" "--filter-module-examples-and-tests=$name" || exit 1
if grep "$name: skipped" "$log"; then exit 1; fi
step build ./ns3 build -j "${JOBS:-1}" || exit 1

suites=$(sed -n 's/.*TestSuite("\(legacy-[a-z-]*\)".*/\1/p' "$module"/test/*-test-suite.cc)
for suite in $suites; do
  step "suite $suite" ./test.py --no-build -s "$suite" || continue
  ./ns3 run --no-build "test-runner --test-name=$suite --verbose" | sed -n 's/^  /        /p'
done
for example in "$module"/examples/*.cc; do
  name=$(basename "$example" .cc)
  step "example $name" ./ns3 run --no-build "$name" && sed 's/^/        /' "$log"
done
[ "$failures" = 0 ] && echo "all passed"
