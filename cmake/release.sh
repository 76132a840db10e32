# shellcheck shell=sh disable=SC2154  # build, jobs, root: set by waf
# What makes releases: ./waf dist packs the sources, and ./waf deb makes Debian packages of them.

# Prints the version that CMakeLists.txt names.
version() { sed -n 's/^project(legacy VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# Packs the sources of a commit: the same bytes from the same commit, on any day.
dist() {
  [ $# -le 1 ] || die "dist: got '$*'; allowed: a tag or another commit, or nothing"
  name=legacy-codesign-$(version)
  commit=${1:-v$(version)}
  if ! git -C "$root" rev-parse -q --verify "$commit^{commit}" >/dev/null; then
    [ $# -eq 0 ] || die "dist: got '$1'; allowed: a tag or another commit of this repository"
    say "there is no tag $commit: the last commit is packed"
    commit=HEAD
  fi
  mkdir -p "$root/build/dist"
  archive=$root/build/dist/$name.tar.gz
  git -C "$root" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$commit^{commit}" |
    gzip -9n >"$archive"
  (cd "$root/build/dist" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
  say "written: $archive"
  cat "$archive.sha256"
}

# Builds the packages in a clean folder, from what `dist` packs, and checks them.
deb() {
  [ $# -le 1 ] || die "deb: got '$*'; allowed: a tag or another commit, or nothing"
  extra_groups='deb docs install python '
  ensure_packages
  dist "$@"
  rm -rf -- "$root/build/deb"
  mkdir -p "$root/build/deb"
  tar xzf "$archive" -C "$root/build/deb"
  say "building packages: about 25 minutes on two cores ($root/build/deb/log)"
  log=$root/build/deb/log
  (cd "$root/build/deb/$name" &&
    DEB_BUILD_OPTIONS="parallel=$jobs" dpkg-buildpackage -b -us -uc >"$log" 2>&1) || {
    tail -n 20 "$log" >&2
    die "deb: the packages cannot be built (all that was said: $log)"
  }
  lintian --fail-on error --suppress-tags bad-distribution-in-changes-file \
    "$root"/build/deb/*.changes
  (cd "$root/build/deb" && du -k -- *.deb | awk '{ printf "%7.1f MB  %s\n", $1 / 1024, $2 }')
}
