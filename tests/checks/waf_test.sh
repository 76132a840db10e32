#!/bin/sh
# Checks how ./waf handles arguments, packages and programs, with fakes of everything that it calls:
#   waf_test.sh ROOT
set -eu
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

mkdir -p "$tree/clone/cmake" "$tree/fake" "$tree/elsewhere"
cp "$root/waf" "$root/CMakePresets.json" "$tree/clone"
cp "$root/cmake/packages.txt" "$tree/clone/cmake"
export LOG="$tree/log" HAVE="$tree/have" CLONE="$tree/clone" PATH="$tree/fake:$PATH"

fake() { cat >"$tree/fake/$1" && chmod +x "$tree/fake/$1"; }

# The fake build makes programs that print their arguments, one on each line.
fake cmake <<'FAKE'
#!/bin/sh
echo "cmake $*" >>"$LOG"
case $1 in
  --preset) mkdir -p "$CLONE/build/$2/bin" && touch "$CLONE/build/$2/build.ninja" && exit ;;
esac
case $* in
  *'targets all'*)
    echo 'all: phony'
    for name in legacy-show legacy-fail legacy-hint legacy-bench-fast legacy-test-slow \
      codec_test; do
      echo "bin/$name: CXX_EXECUTABLE_LINKER__${name}_Release"
    done ;;
  *' -n') echo '[1/1] Linking' ;;
  *'--target timed')
    mkdir -p "$2/timings/one" "$2/timings/two/b"
    printf '0m0.5s 0m0s\n1m30.25s 0m0.75s\n' >"$2/timings/one/a.o"
    printf '0m0s 0m0s\n0m2s 0m0.5s\n' >"$2/timings/two/b/c.o"
    printf '0m0s 0m0s\n1m30s 0m1s\n' >"$2/timings/two/d.o" ;;
  *'--target legacy-fuzz')
    cat >"$2/bin/legacy-fuzz" <<'FUZZ'
case $1 in
  --seeds=*) mkdir -p "${1#--seeds=}/codec" && exit ;;
esac
[ ! -e "$CLONE/crash" ] && echo "fuzz $*" >>"$LOG"
FUZZ
    chmod +x "$2/bin/legacy-fuzz" ;;
  *'--target legacy-'*)
    program=$2/bin/${*##*--target }
    printf '#!/bin/sh\nprintf "[%%s]\\n" "$@" "$OMP_WAIT_POLICY" "$(pwd)"\n' >"$program"
    case $program in
      *-fail) echo 'exit 7' >>"$program" ;;
      *-hint) printf '#!/bin/sh\necho "[$LEGACY_LAUNCHER]"\n' >"$program" ;;
    esac
    chmod +x "$program" ;;
esac
FAKE
fake ctest <<'FAKE'
#!/bin/sh
echo "ctest $*" >>"$LOG"
FAKE
fake dpkg-query <<'FAKE'
#!/bin/sh
echo 'dpkg-query' >>"$LOG"
sed 's/^/ii  /' "$HAVE"
FAKE
fake apt-get <<'FAKE'
#!/bin/sh
echo "apt-get $*" >>"$LOG"
FAKE
fake id <<'FAKE'
#!/bin/sh
echo 0
FAKE

# Everything is installed: the second of two alternatives counts.
all_packages() {
  awk '!/^#/ && NF { count = split($2, name, "|"); print name[count] }' \
    "$root/cmake/packages.txt" >"$HAVE"
}
forget() { sed -i "/^$1\$/d" "$HAVE"; }
fresh() { rm -rf "$CLONE/build" "$LOG" && : >"$LOG" && all_packages; }

waf() { (cd "$tree/elsewhere" && "$CLONE/waf" "$@") >"$tree/output" 2>"$tree/errors"; }

fail() {
  echo "FAILED: $1" && cat "$tree/output" "$tree/errors" "$LOG"
  failures=$((failures + 1))
}
succeeds() { waf "$@" || fail "$*"; }
fails() { ! waf "$@" || fail "should fail: $*"; }
printed() { printf '%s\n' "$@" | cmp -s - "$tree/output" || fail "output should be: $*"; }
complained() { grep -qF -e "$1" "$tree/errors" || fail "errors should have: $1"; }
called() { grep -q -e "$1" "$LOG" || fail "should be called: $1"; }
not_called() { ! grep -q -e "$1" "$LOG" || fail "should not be called: $1"; }
here='['$tree/elsewhere']'

fresh
# Words are passed on unchanged, even if they look like our own options; the program runs in the
# caller's folder.
succeeds --run legacy-show '--topo=fat tree' '' "it's" '*' '$HOME' --jobs=0 --help
printed '[--topo=fat tree]' '[]' "[it's]" '[*]' '[$HOME]' '[--jobs=0]' '[--help]' '[passive]' \
  "$here"
called 'cmake --preset release$'
called '--target legacy-show$'
not_called apt-get
# One string is split and unquoted, and nothing in it is expanded or executed.
succeeds --run 'legacy-show --topo=fat-tree  "a  b" '"'' 'c d'"' $(touch evil);e * \"q' 'last one'
printed '[--topo=fat-tree]' '[a  b]' '[]' '[c d]' '[$(touch]' '[evil);e]' '[*]' '["q]' \
  '[last one]' '[passive]' "$here"
[ ! -e "$tree/elsewhere/evil" ] || fail 'a command in the string was executed'
succeeds '--run=legacy-show --x=1' y
printed '[--x=1]' '[y]' '[passive]' "$here"
fails --run 'legacy-show "open'
fails --run
fails --run ''
fails --run ../legacy-show
waf --run legacy-fail || [ $? = 7 ] || fail "the program's exit status"

# A second run asks neither dpkg nor CMake to configure; a newer preset file does.
: >"$LOG"
succeeds --run legacy-show
not_called dpkg-query
not_called preset
touch -d '+1 minute' "$CLONE/CMakePresets.json"
succeeds --run legacy-show
called 'cmake --preset release$'
touch "$CLONE/CMakePresets.json"

# For an unknown program, the list has programs only.
fails --run legacy-nothing
there_are='legacy-fail legacy-hint legacy-show'
complained "no program 'legacy-nothing' in profile release; there are: $there_are"
fails --run legacy-sohw
complained "no program 'legacy-sohw' in profile release; did you mean legacy-show?"

# Mistyped words get a proposal.
fails doctro
complained "got 'doctro'; did you mean doctor?"
fails --profil=asan
complained "got '--profil=asan'; did you mean --profile?"
fails legacy-show --topo=star
complained "got 'legacy-show'; did you mean ./waf --run legacy-show?"
fails --topo=star
complained "got '--topo=star'; allowed: --run PROGRAM, with the program's options after its name"

# Only packages that are missing and that the build needs are installed.
fresh && forget libyaml-cpp-dev && forget libtorch-dev
fails --no-install --run legacy-show
complained 'libyaml-cpp-dev        scenario and topology files'
complained 'as root: apt-get install --no-install-recommends libyaml-cpp-dev libtorch-dev'
not_called apt-get
succeeds --run legacy-show
called 'apt-get .*install -y --no-install-recommends libyaml-cpp-dev libtorch-dev$'
fresh && forget gnuplot-x11
succeeds packages
called 'apt-get .*install -y --no-install-recommends gnuplot-nox$'
not_called cmake
fresh && forget libtorch-dev
succeeds configure -DLEGACY_TORCH=OFF
not_called apt-get
called 'cmake --preset release -DLEGACY_TORCH=OFF$'
mkdir -p "$tree/own/share/cmake/Torch" && touch "$tree/own/share/cmake/Torch/TorchConfig.cmake"
fresh && forget libtorch-dev
succeeds configure "-DCMAKE_PREFIX_PATH=/nowhere;$tree/own"
not_called apt-get
fresh && forget libns3-dev
succeeds --profile=tsan build
succeeds --profile=asan configure -DLEGACY_ROCE_TESTS=OFF
not_called apt-get
succeeds --profile=asan build
called 'apt-get .*libns3-dev'
fresh && forget libns3-dev
succeeds build
called 'apt-get .*libns3-dev'
fresh && forget chromium
succeeds --no-install build
fails --no-install test
complained 'chromium '
succeeds test
called 'apt-get .*install -y --no-install-recommends chromium$'
fresh && forget libsimgrid-dev
succeeds --no-install bench
succeeds build
not_called apt-get
succeeds bench
called 'apt-get .*install -y --no-install-recommends libsimgrid-dev$'
fake mkdocs <<'FAKE'
#!/bin/sh
echo "mkdocs $*" >>"$LOG"
FAKE
fake doxygen <<'FAKE'
#!/bin/sh
echo "doxygen $*" >>"$LOG"
FAKE
fresh && forget mkdocs
succeeds docs
called 'apt-get .*install -y --no-install-recommends mkdocs$'
called 'mkdocs build --strict --site-dir .*/build/docs$'
called 'doxygen docs/Doxyfile$'
not_called cmake
fails docs now
fresh && forget pybind11-dev
succeeds build
not_called apt-get
succeeds python
called 'apt-get .*install -y --no-install-recommends pybind11-dev$'
called '--target legacy_python$'
complained "PYTHONPATH=$CLONE/build/release/python"
fails python now
fresh && forget clang-tidy
mkdir -p "$tree/clone/tests/checks"
cat >"$tree/clone/tests/checks/tidy.py" <<'TIDY'
#!/bin/sh
echo "tidy $JOBS $*" >>"$LOG"
TIDY
chmod +x "$tree/clone/tests/checks/tidy.py"
succeeds build
not_called apt-get
succeeds -j3 tidy base trainer/clock
called 'apt-get .*install -y --no-install-recommends clang-tidy$'
called "tidy 3 $CLONE/build/release base trainer/clock\$"
fresh && forget clang
succeeds fuzz --seconds=7
called 'apt-get .*install -y --no-install-recommends clang$'
called 'cmake --preset asan$'
called 'fuzz .*-max_total_time=7 .*build/asan/corpus/codec$'
fails fuzz --seconds=0
succeeds fuzz --runs=9 codec
called 'fuzz .*-runs=9 .*build/asan/corpus/codec$'
fails fuzz --runs=0
fails fuzz nothing
complained "got 'nothing'; allowed: codec"
touch "$CLONE/crash"
fails fuzz
complained 'the fuzzer of codec failed'

# Our options may come before and after a command; other words are passed on.
fresh
succeeds --jobs=3 test -R codec --profile=debug
called 'cmake --preset debug$'
called 'ctest .*build/debug --output-on-failure -j 3 -LE ^long\$ -R codec$'
not_called legacy-long-tests
succeeds test -j1 -L long
called '--target legacy-long-tests$'
called 'ctest .*build/release --output-on-failure -j 1 -L long$'
succeeds build -j5 codec_test
called 'cmake --build .*build/release -j 5 --target codec_test$'
succeeds build --timings timed
called 'cmake --build .* --target timed$'
printed '     93.5 two' '     91.0 one' '    184.5 in all, processor seconds; the dearest:' \
  '     91.0 two/d.o' '     91.0 one/a.o' '      2.5 two/b/c.o'
succeeds build --timings codec_test
printed 'nothing had to be built'
succeeds bench --benchmark_filter=x
printed '[--benchmark_filter=x]' '[passive]' "$here"
succeeds install --prefix="$tree/to here"
called "cmake --install .* --prefix $tree/to here\$"
fails install
fails --profile=fast build
complained 'release debug asan tsan cuda'
fails --jobs=0 build
fails build --jobs=two
fails nonsense
succeeds clean
[ ! -e "$CLONE/build/release" ] && [ -e "$CLONE/build/debug" ] || fail 'clean removes one profile'
[ "$failures" = 0 ]
