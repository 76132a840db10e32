#!/bin/sh
# Checks that all files name one version:  version.sh ROOT
set -eu
cd "$1"
version=$(sed -n 's/^project(legacy VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
status=0
same() {
  [ "$2" = "$version" ] || { echo "$1 says version '$2', CMakeLists.txt '$version'" && status=1; }
}
[ -n "$version" ] || { echo 'CMakeLists.txt names no version' && exit 1; }
same CITATION.cff "$(sed -n 's/^version: //p' CITATION.cff)"
same CHANGELOG.md "$(sed -n '/^## /{s/^## \([0-9.]*\).*/\1/p;q}' CHANGELOG.md)"
same debian/changelog "$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)"
exit "$status"
