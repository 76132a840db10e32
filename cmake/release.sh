# shellcheck shell=sh disable=SC2154  # build, jobs, root: set by waf
# What makes releases: ./waf dist packs the sources, ./waf deb makes Debian packages of them,
# ./waf ns3-app makes the repository of the ns-3 module, and ./waf artifact packs what rebuilds the
# tables of the results.

# Prints the version that CMakeLists.txt names.
version() { sed -n 's/^project(legacy VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# Packs the sources of a commit: the same bytes from the same commit, on any day. Sources that are
# no repository, as those that were packed so, are packed as they are.
dist() {
  [ $# -le 1 ] || die "dist: got '$*'; allowed: a tag or another commit, or nothing"
  name=legacy-codesign-$(version)
  archive=$root/build/dist/$name.tar.gz
  mkdir -p "$root/build/dist"
  if [ "$(git -C "$root" rev-parse --show-toplevel 2>/dev/null)" = "$root" ]; then
    commit=${1:-v$(version)}
    if ! git -C "$root" rev-parse -q --verify "$commit^{commit}" >/dev/null; then
      [ $# -eq 0 ] || die "dist: got '$1'; allowed: a tag or another commit of this repository"
      say "there is no tag $commit: the last commit is packed"
      commit=HEAD
    fi
    git -C "$root" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$commit^{commit}"
  else
    [ $# -eq 0 ] || die "dist: got '$1'; allowed: nothing, as this is no repository"
    tar --sort=name --owner=0 --group=0 --numeric-owner --exclude=./build --exclude=./runs \
      --exclude=./studies --transform="s,^\\.,$name," -C "$root" -cf - .
  fi | gzip -9n >"$archive"
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

# Packs what a reviewer needs to rebuild the tables of the results: the sources, a script, what each
# table claims and how it is compared, and the machine that made the figures of today.
artifact() {
  dist "$@"
  extra_groups='test '
  ensure_packages
  folder=legacy-artifact-$(version)
  pack=$root/build/artifact/$folder
  rm -rf -- "$root/build/artifact"
  mkdir -p "$pack"
  cp "$archive" "$archive.sha256" "$pack"
  cat >"$pack/run.sh" <<RUN
#!/bin/sh
# Rebuilds tables of the results:  ./run.sh quick|half|full  (10 minutes, 2 hours, a night and more)
# The first run builds the programs, which takes about 25 minutes on two cores.
set -eu
cd "\$(dirname -- "\$0")"
case \${1-} in quick | half | full) ;; *) sed -n '2,3s/^# //p' "\$0" && exit 2 ;; esac
[ -d $name ] || { sha256sum -c $name.tar.gz.sha256 && tar xzf $name.tar.gz; }
cd $name
./waf build legacy-study legacy-network
./waf --run legacy-network validate --sample
exec docs/artifact run "\$1"
RUN
  chmod +x "$pack/run.sh"
  {
    cat <<README
# Artifact of the LEGACY co-design toolkit $(version)

\`./run.sh quick\` rebuilds some tables of the handbook's results on Debian 12 in about 10 minutes,
\`half\` in two hours, and \`full\` all of them in a night and more. Each ends with a verdict on
every table: equal, within interval, different, other sign, not run. The sources hold the studies
(\`scenarios/\`), the tables that are expected (\`docs/results/\`) and the licences.
\`environment.txt\` is the machine that this was packed on. CSV files are equal to the byte on
processors whose LibTorch chooses the same kernels; on others trainings differ in their last bits,
and tables are compared by their intervals.

    sha256sum -c $name.tar.gz.sha256

| tier | source | table | claim |
|---|---|---|---|
README
    "$root/docs/artifact" list |
      sed -E 's/^(\S+) +(\S+) +(\S+): (.*)/| \1 | \2 | \3 | \4 |/'
  } >"$pack/README.md"
  {
    uname -srm
    sed -n 's/^model name\t*: /processor: /p' /proc/cpuinfo | sort | uniq -c
    dpkg-query -W -f '${Package} ${Version}\n' 2>/dev/null |
      grep -E '^(g\+\+|cmake|libtorch|libns3|ns3|libopenblas|libyaml-cpp|libfmt|libgloo)' || true
  } >"$pack/environment.txt"
  (cd "$root/build/artifact" &&
    tar --sort=name --owner=0 --group=0 --numeric-owner -c "$folder" | gzip -9n >"$folder.tar.gz")
  say "written: $root/build/artifact/$folder.tar.gz"
}

# Makes the ns-3 module a folder of its own, as ns-3's App Store asks for: with base/ in it, without
# the parts that are no module. Then builds it in ns-3 source trees, with its suites and examples.
ns3_app() {
  app=$root/build/ns3-app/collective-fabric
  rm -rf -- "$app"
  mkdir -p "$app/base/files"
  (cd "$root/ns3-module" && tar cf - --exclude=./wire --exclude=./program --exclude=bench .) |
    tar xf - -C "$app"
  sed -n 's,^  ${base}/\(.*\.cc\))*$,\1,p' "$root/ns3-module/base.cmake" | while read -r source; do
    cp "$root/base/$source" "$app/base/$source"
  done
  cp "$root"/base/*.h "$app/base"
  cp "$root"/base/files/*.h "$app/base/files"
  cp "$root/LICENSE" "$app/base/LICENSE"
  cat "$root/CHANGELOG.md" >"$app/CHANGELOG.md"
  python3 "$app/utils/thumbnail.py" --check "$app/doc/thumbnail.png" ||
    die 'ns3-app: doc/thumbnail.png is no thumbnail'
  for file in README.md LICENSE bakeconf.xml doc/legacy.rst; do
    [ -s "$app/$file" ] || die "ns3-app: $file is missing"
  done
  say "written: $app; for a release, tag its repository v$(version)"
  [ $# -gt 0 ] || say 'ns3-app: give ns-3 source trees to build it there: ./waf ns3-app TREE...'
  for tree; do
    [ -x "$tree/ns3" ] || die "ns3-app: got '$tree'; allowed: source trees of ns-3 (3.37 or newer)"
    JOBS=$jobs "$app/utils/try-in-ns3-tree.sh" "$tree"
  done
}
