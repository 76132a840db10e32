#!/bin/sh
# Checks how tests/gpu_check handles options, tools, failures and a machine without a GPU, with
# fakes of everything that it calls; and, with nvcc, its real --dry-run:  gpu_check_test.sh ROOT
set -eu
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
check=$root/tests/gpu_check
failures=0
real_path=$PATH

mkdir -p "$tree/fake" "$tree/deps"
export LOG="$tree/log" OUT="$tree/out" GPU="$tree/gpu" BROKEN="$tree/broken" TORCH="$tree/torch"
PATH=$tree/fake:$PATH

fake() { cat >"$tree/fake/$1" && chmod +x "$tree/fake/$1"; }

# Programs log their arguments; legacy-bench-gpu finds a GPU if the test wants one. Both folders of
# builds get all programs.
fake cmake <<'FAKE'
#!/bin/sh
echo "cmake $*" >>"$LOG"
case "$* " in
  *-DLEGACY_TORCH=ON*) [ ! -e "$BROKEN.torch" ] || exit 1 ;;
  --build*)
    [ ! -e "$BROKEN.build" ] || exit 1
    for name in gpu_tests legacy-bench-gpu trainer_test legacy-bench-training legacy-scenario \
        legacy-calibrate; do
      mkdir -p "$2/bin"
      printf '#!/bin/sh\necho "%s $*" >>"$LOG"\n[ ! -e "$BROKEN.%s" ] || exit 1\n' \
        "$name" "$name" >"$2/bin/$name"
      chmod +x "$2/bin/$name"
    done
    mkdir -p "$2/lib" && : >"$2/lib/liblegacy_compress.so" && : >"$2/lib/liblegacy_base.so" &&
      : >"$2/lib/liblegacy_core.so"
    echo 'echo CudaTopK. && echo CudaHugeSum.' >>"$2/bin/gpu_tests"
    echo 'for option; do case $option in --json=*) : >"${option#*=}" ;; esac; done' \
      >>"$2/bin/legacy-bench-gpu"
    echo '[ "$1" != --device ] || [ -e "$GPU" ] || { echo no GPU && exit 1; }' \
      >>"$2/bin/legacy-bench-gpu" ;;
esac
FAKE
fake ninja </dev/null
fake nvcc </dev/null
fake python3 <<'FAKE'
#!/bin/sh
echo "python3 $*" >>"$LOG"
case $2 in
  *torch.version*) [ ! -e "$TORCH" ] || echo /torch/share/cmake ;;
  -c | *import*) exit 1 ;;
esac
FAKE
fake compute-sanitizer <<'FAKE'
#!/bin/sh
echo "compute-sanitizer $*" >>"$LOG"
[ ! -e "$BROKEN.$2" ]
FAKE
for tool in ncu setsid; do
  printf '#!/bin/sh\necho "%s $*" >>"$LOG"\n' "$tool" | fake "$tool"
done
printf '#!/bin/sh\ncp "$3" "$2"\n' | fake strip

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
  "$check" "--out=$OUT" "$@" >"$tree/output" 2>&1 || status=$?
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

# Without a GPU it builds, and names the parts as not run.
fresh
exits 77 --tests --arch=90 "--deps=$tree/deps"
called '-DCMAKE_CUDA_ARCHITECTURES=90'
called '-DLEGACY_PROGRAMS=OFF'
called "-DCMAKE_PREFIX_PATH=$tree/deps/usr "
called '-DLEGACY_TORCH=OFF'
not_called 'gpu_tests --gtest_filter'
not_called '-DLEGACY_TORCH=ON'
printed '^gpu-tests +not run: there is no GPU'
fresh
touch "$TORCH"
exits 0 --build
called '-DLEGACY_TORCH=OFF'
called '-DLEGACY_TORCH=ON'
called '--target trainer_test legacy-bench-training legacy-scenario legacy-calibrate -- -k 0'
not_called 'gpu_tests --gtest'

# With a GPU it runs everything, suite by suite; a failing part does not keep the others from
# running.
fresh
touch "$GPU" "$TORCH"
exits 0 '--filter=TopK*' '--bench-options=--turns=5'
called '-DCMAKE_PREFIX_PATH=/torch/share/cmake'
called 'gpu_tests --gtest_list_tests --gtest_filter=TopK*'
called 'gpu_tests --gtest_filter=CudaTopK.*'
called 'gpu_tests --gtest_filter=CudaHugeSum.*'
called "--json=$OUT/gpu.json --turns=5"
called "torch_chains.py --json=$OUT/chains.json"
called 'ncu --clock-control none'
called 'compute-sanitizer --tool racecheck'
called 'legacy-bench-training --device cuda --steps 10'
called 'legacy-scenario --dataset=glyphs --device=cuda --fidelity=analytic --record'
calibrate="legacy-calibrate --gpu $OUT/gpu.json --base h100-datasheet --operations"
called "$calibrate --out $OUT/profile.json"
mkdir -p "$tree/data/cifar-10-batches-bin" && : >"$LOG"
exits 0 --train "--data=$tree/data"
called "legacy-scenario --dataset=cifar10 --data-root=$tree/data --device=cuda"
not_called gpu_tests
rm "$OUT/gpu.json"
exits 1 --profile
printed '^profile +FAILED'
touch "$BROKEN.gpu_tests"
exits 1 --kernels
printed '^gpu-tests +FAILED'
printed '^bench +passed'

rm "$BROKEN.gpu_tests"
touch "$BROKEN.initcheck"
exits 1 --sanitize
printed '^1 initcheck'
printed '^sanitize +FAILED'
rm "$BROKEN.initcheck"

# If CMake refuses LibTorch, or there is none, the kernels are tested without it.
touch "$BROKEN.torch"
rm -rf "$OUT/training"
exits 1
printed '^bench +passed'
printed '^training-build +FAILED'
fresh
touch "$GPU"
exits 1
printed '^bench +passed'
printed '^record +not run'
fresh
touch "$BROKEN.build"
exits 1 --tests
printed '^kernels-build +FAILED'

# Carried programs are not built again, and the rest is built meanwhile.
copy=$tree/copy
mkdir -p "$copy/tests" && cp "$root/tests/gpu_check" "$copy/tests/"
printf '#!/bin/sh\nmkdir -p "$1/usr"\n' >"$copy/tests/gpu_deps" && chmod +x "$copy/tests/gpu_deps"
check=$copy/tests/gpu_check
fresh
touch "$GPU" "$TORCH"
exits 1 --prebuilt
printed 'gpu-carry: --prepare makes it'
exits 0 --prepare
called '-DCMAKE_CUDA_ARCHITECTURES=90'
[ -x "$copy/build/gpu-carry/bin/gpu_tests" ] && [ -f "$copy/build/gpu-carry/deps.tgz" ] ||
  fail 'programs and libraries should be packed'
: >"$LOG"
exits 0 --prebuilt --kernels
not_called 'cmake '
called 'gpu_tests --gtest_filter=CudaTopK.*'
called "setsid $check --prebuilt --training --build --out=$OUT"
exits 0 --prebuilt --training
called "cmake -S $OUT/source -B $OUT/training"
called "-DCMAKE_PREFIX_PATH=$OUT/deps/usr;/torch/share/cmake"
check=$root/tests/gpu_check

# The real script runs up to compiling.
PATH=$real_path
if command -v nvcc >/dev/null; then
  fresh
  exits 0 --dry-run --arch=90
  printed '^kernels-build +passed'
  printed 'gpu_tests|legacy-bench-gpu'
fi
[ "$failures" = 0 ]
