# shellcheck shell=sh disable=SC2154  # build, root: set by waf
# ./waf doctor lists the tools and packages that the toolkit would build with on this machine, and
# those that are missing.

row() { printf '%-14s %s\n' "$1" "${2:-none}"; }

# Prints the folder of CMake package $1: as configured, else where systems usually install it.
cmake_package() {
  folder=$(cmake_setting "$1_DIR")
  case $folder in
    '' | *-NOTFOUND)
      folder=$(find /usr/lib /usr/local/lib -path "*/cmake/$1" 2>/dev/null | head -n 1) ;;
  esac
  printf '%s\n' "$folder"
}

# Prints the version of package $2 in folder $1.
cmake_version() {
  sed -n 's/.*set(PACKAGE_VERSION "\(.*\)").*/\1/p' "$1/$2ConfigVersion.cmake" | head -n 1
}

first_line() { "$@" 2>/dev/null | head -n 1 || true; }

doctor() {
  exec 2>&1
  row compiler "$(first_line "${CXX:-c++}" --version)"
  row CMake "$(first_line cmake --version)"
  row Ninja "$(first_line ninja --version)"
  doctor_libraries
  nvcc=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  row CUDA "$nvcc"
  row gnuplot "$(first_line gnuplot --version)"
  row cores "$(cores)"
  row memory "$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null)"
  configured=
  for cache in "$root"/build/*/CMakeCache.txt; do
    [ ! -f "$cache" ] || configured="$configured$(basename "$(dirname "$cache")") "
  done
  row configured "${configured:-nothing yet}"
  data=${LEGACY_DATA:-${HOME:-}/.cache/legacy-data}
  [ -d "$data" ] || data="$data (not there yet)"
  row 'data sets' "$data"
  optional=$(missing_packages ' optional pytorch ')
  [ -z "$optional" ] || { say 'not installed, and not needed:' && show_packages "$optional"; }
  missing=$(missing_packages "$(package_groups)")
  [ -z "$missing" ] || { say 'needed and missing:' && show_packages "$missing" && return 1; }
  say 'all that is needed is here'
}

doctor_libraries() {
  torch=$(cmake_package Torch)
  if [ -f "$torch/TorchConfigVersion.cmake" ]; then
    cuda='CPU only'
    ! grep -q torch_cuda "$torch/../Caffe2/Caffe2Targets.cmake" 2>/dev/null || cuda='with CUDA'
    row LibTorch "$(cmake_version "$torch" Torch), $cuda, $torch"
  else
    row LibTorch
  fi
  blas=$(find /usr/lib -maxdepth 2 -name libblas.so.3 2>/dev/null | head -n 1)
  row BLAS "${blas:+$(readlink -f "$blas")}"
  ns3=$(cmake_package ns3)
  if [ -f "$ns3/ns3ConfigVersion.cmake" ]; then
    kind=$(find "$ns3" -name 'ns3Targets-*.cmake' | sed 's/.*-\(.*\).cmake/\1/')
    row ns-3 "$(cmake_version "$ns3" ns3), $kind, $ns3"
  else
    row ns-3
  fi
}
