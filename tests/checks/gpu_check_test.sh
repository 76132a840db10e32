#!/bin/sh
# Checks how tests/gpu_check handles options, tools, failures and a machine without a GPU, with
# fakes of everything that it calls; and, with nvcc, its real --dry-run:  gpu_check_test.sh ROOT
set -eu
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
real_path=$PATH

mkdir -p "$tree/fake" "$tree/deps"
export LOG="$tree/log" OUT="$tree/out" GPU="$tree/gpu" BROKEN="$tree/broken" TORCH="$tree/torch"
PATH=$tree/fake:$PATH

fake() { cat >"$tree/fake/$1" && chmod +x "$tree/fake/$1"; }

# Programs log their arguments; legacy-bench-gpu finds a GPU if the test wants one.
fake cmake <<'FAKE'
#!/bin/sh
echo "cmake $*" >>"$LOG"
case "$* " in
  *-DLEGACY_TORCH=ON*) [ ! -e "$BROKEN.torch" ] ;;
  --build*)
    [ ! -e "$BROKEN.build" ] || exit 1
    mkdir -p "$OUT/build/bin"
    for name in cuda_logic_tests gpu_bench_tests gpu_tests legacy-bench-gpu trainer_test \
        clock_test workers_test legacy-bench-training legacy-scenario legacy-calibrate; do
      printf '#!/bin/sh\necho "%s $*" >>"$LOG"\n[ ! -e "$BROKEN.%s" ] || exit 1\n' \
        "$name" "$name" >"$OUT/build/bin/$name"
      chmod +x "$OUT/build/bin/$name"
    done
    echo '[ "$1" = --device ] || : >"${1#--json=}"' >>"$OUT/build/bin/legacy-bench-gpu"
    echo '[ "$1" != --device ] || [ -e "$GPU" ]' >>"$OUT/build/bin/legacy-bench-gpu" ;;
esac
FAKE
fake ninja </dev/null
fake nvcc </dev/null
fake python3 <<'FAKE'
#!/bin/sh
case $2 in
  *torch*) [ ! -e "$TORCH" ] || echo /torch/share/cmake ;;
  *) exit 1 ;;
esac
FAKE
fake compute-sanitizer <<'FAKE'
#!/bin/sh
echo "compute-sanitizer $*" >>"$LOG"
FAKE

fresh() { rm -rf "$OUT" "$GPU" "$TORCH" "$BROKEN".* && : >"$LOG"; }
fail() {
  echo "FAILED: $1" && cat "$tree/output" "$LOG"
  failures=$((failures + 1))
}
# exits STATUS ARGUMENTS: runs gpu_check, which must exit with that status.
exits() {
  expected=$1
  shift
  status=0
  "$root/tests/gpu_check" "--out=$OUT" "$@" >"$tree/output" 2>&1 || status=$?
  [ "$status" = "$expected" ] || fail "exit status of '$*': $status instead of $expected"
}
printed() { grep -qE -e "$1" "$tree/output" || fail "should be printed: $1"; }
called() { grep -qF -e "$1" "$LOG" || fail "should be called: $1"; }
not_called() { ! grep -qF -e "$1" "$LOG" || fail "should not be called: $1"; }

fresh
exits 0 --help
printed '^Usage: tests/gpu_check'
for option in --nonsense build --deps=/no/such/folder --data=/no/such/folder --jobs=0 --jobs=two \
  --arch=; do
  exits 2 "$option"
done
not_called cmake

# Without a GPU it builds, tests on the host, and names the other parts as not run.
fresh
exits 77 --build --tests --arch=90 "--deps=$tree/deps"
called '-DCMAKE_CUDA_ARCHITECTURES=90'
called '-DLEGACY_PROGRAMS=OFF'
called "-DCMAKE_PREFIX_PATH=$tree/deps/usr "
called '-DLEGACY_TORCH=OFF'
called cuda_logic_tests
not_called 'gpu_tests --gtest'
printed '^host-tests +passed'
printed '^gpu-tests +not run: there is no GPU'
exits 0 --build

# With a GPU it runs everything; a failing part does not keep the others from running.
fresh
touch "$GPU" "$TORCH"
exits 0 '--filter=TopK*' '--bench-options=--turns=5 --sizes=1e6'
called '-DLEGACY_TORCH=ON'
called '-DCMAKE_PREFIX_PATH=/torch/share/cmake'
called 'gpu_tests --gtest_filter=TopK*'
called 'compute-sanitizer --tool racecheck'
called "legacy-bench-gpu --json=$OUT/gpu.json --turns=5 --sizes=1e6"
called 'legacy-bench-training --device cuda --steps 10'
called 'legacy-scenario --dataset=glyphs --device=cuda --fidelity=analytic --record'
mkdir -p "$tree/data/cifar-10-batches-bin" && : >"$LOG"
exits 0 --train "--data=$tree/data"
called "legacy-scenario --dataset=cifar10 --data-root=$tree/data --device=cuda"
exits 0 --profile
calibrate="legacy-calibrate --gpu $OUT/gpu.json --base h100-datasheet --operations"
called "$calibrate --out $OUT/profile.json"
rm "$OUT/gpu.json"
exits 1 --profile
printed '^profile +FAILED'
touch "$BROKEN.gpu_tests"
exits 1 --tests --bench
printed '^gpu-tests +FAILED'
printed '^bench +passed'
rm "$BROKEN.gpu_tests"

# If CMake refuses LibTorch, all parts but the trainer run without it.
touch "$BROKEN.torch"
exits 1
called '-DLEGACY_TORCH=OFF'
printed '^bench +passed'
printed '^train +FAILED'
fresh
touch "$BROKEN.build"
exits 1 --tests
printed '^build +FAILED'

# The real script runs up to compiling.
PATH=$real_path
if command -v nvcc >/dev/null; then
  fresh
  exits 0 --dry-run --arch=90
  printed '^configure +passed'
  printed 'gpu_tests|legacy-bench-gpu|cuda_logic_tests'
fi
[ "$failures" = 0 ]
