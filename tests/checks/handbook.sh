#!/bin/sh
# Renders the handbook without a warning, where mkdocs is installed:  handbook.sh ROOT
set -eu
command -v mkdocs >/dev/null || { echo 'there is no mkdocs (./waf docs installs it)' && exit 77; }
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
cd "$1"
mkdocs build --strict --site-dir "$site/pages" >"$site/log" 2>&1 || { cat "$site/log" && exit 1; }
[ -s "$site/pages/index.html" ] || { echo 'there is no front page' && exit 1; }
