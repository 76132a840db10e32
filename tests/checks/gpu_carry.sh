#!/bin/sh
# Runs what tests/gpu_check --prepare packed in a root folder that has, besides it, what every
# machine with a GPU has: the C and C++ libraries, those of CUDA, and tools of a shell. Without a
# GPU all must work up to the first call of the device:  gpu_carry.sh ROOT
set -eu
root=$1
bare=$(mktemp -d "$root/build/bare.XXXXXX")  # next to the files that are linked
trap 'rm -rf "$bare"' EXIT

fail() {
  echo "gpu_carry: $*"
  exit 1
}

# put_into FOLDER FILE...: puts files into a folder, as links where that is possible.
put_into() {
  to=$bare$1
  shift
  mkdir -p "$to"
  for file; do
    [ -e "$to/${file##*/}" ] || cp -lL "$file" "$to" 2>/dev/null || cp -L "$file" "$to"
  done
}
# put FILE...: puts files at the same paths.
put() {
  for place; do
    put_into "${place%/*}" "$place"
  done
}

# libraries FILE...: prints the paths of the libraries that programs load.
libraries() { ldd "$@" | sed -n 's/.*\(=> \|^\t\)\(\/[^ ]*\) (.*/\2/p' | sort -u; }

mkdir -p "$bare/usr/bin" "$bare/usr/lib" "$bare/usr/lib64"
ln -s usr/bin usr/lib usr/lib64 "$bare"
for tool in sh bash awk basename cat cut date dirname find grep head ldd ls mkdir nproc rm sed \
  sleep sort tail timeout tr uniq xargs; do
  path=$(command -v "$tool")
  put "$path"
  case $(head -c 2 "$path") in
    '#!') ;;
    # shellcheck disable=SC2046  # words
    *) put $(libraries "$path") ;;
  esac
done
carried=$root/build/gpu-carry
for path in $(libraries "$carried"/bin/*); do
  case ${path##*/} in
    lib[cm].so.* | ld-linux* | libdl.* | libpthread.* | librt.* | libgcc_s.* | libstdc++.*)
      put "$path" ;;
  esac
done
cuda=$(nvcc --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
put_into /usr/local/cuda/lib64 "$cuda"/lib64/libcudart.so.* "$cuda"/lib64/libcublas*.so.*
mkdir -p "$bare/legacy/build" "$bare/legacy/tests" "$bare/tmp" "$bare/dev"
: >"$bare/dev/null"
cp "$root/tests/gpu_check" "$bare/legacy/tests/"
cp -a "$carried" "$bare/legacy/build/"

as_root=
[ "$(id -u)" = 0 ] || as_root='unshare -r'
status=0
# shellcheck disable=SC2086  # words
env -i PATH=/usr/bin:/bin $as_root /usr/sbin/chroot "$bare" \
  /bin/sh /legacy/tests/gpu_check --prebuilt --kernels --out=/tmp/out >"$bare/output" 2>&1 ||
  status=$?
cat "$bare/output"
[ "$status" = 77 ] || fail "exit status $status instead of 77"
grep -q '^legacy-bench-gpu: no GPU' "$bare/output" || fail 'the benchmark should miss a GPU'
grep -q '^list-tests  *passed' "$bare/output" || fail 'the tests should be listed'
grep -q '^CudaTopK' "$bare/tmp/out/list-tests.log" || fail 'there should be tests of Top-K'
# Rows of one name could not be told apart.
twice=$("$carried/bin/legacy-bench-gpu" --dry-run | awk '{ print $1, $2, $3, $4 }' | sort | uniq -d)
[ -z "$twice" ] || fail "rows of one name: $twice"
# CMake 3.31 and newer put CUDA sources into batches, too, unless they are told not to.
! grep -q 'unity_[0-9]*_cu' "$root"/build/release/build.ninja 2>/dev/null ||
  fail 'CUDA sources are compiled in batches'
