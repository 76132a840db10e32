# All libraries that the project uses are found here. cmake/packages.txt lists the Debian packages.

find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

# All folders but compress/ need the fabric.
if(LEGACY_PROGRAMS OR LEGACY_TORCH OR LEGACY_NS3)
  set(LEGACY_FABRIC ON)
  find_package(yaml-cpp REQUIRED)
  find_package(pugixml REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(CLI11 REQUIRED)
else()
  set(LEGACY_FABRIC OFF)
endif()

# Chakra's traces are protobuf messages, which the lite library reads without generated code.
# Machines without it, as those of tests/gpu_check, have no legacy-trace.
set(LEGACY_TRACES OFF)
if(LEGACY_PROGRAMS)
  find_package(Protobuf QUIET)
  if(Protobuf_FOUND)
    set(LEGACY_TRACES ON)
  else()
    message(STATUS "legacy-trace is not built: protobuf is missing (./waf packages installs it)")
  endif()
endif()

if(NOT LEGACY_PROGRAMS)
  set(LEGACY_STUDIES OFF)
endif()
if(LEGACY_STUDIES)
  find_package(SQLite3 REQUIRED)

  # The interactive report of a study contains Chart.js, which is one self-contained script.
  find_file(LEGACY_CHART_JS chart.min.js PATHS /usr/share/javascript PATH_SUFFIXES chart.js
    REQUIRED)
  file(READ "${LEGACY_CHART_JS}" chart_banner LIMIT 200)
  if(NOT chart_banner MATCHES "Chart\\.js v([0-9.]+)" OR CMAKE_MATCH_1 VERSION_LESS 3.9 OR
     NOT CMAKE_MATCH_1 VERSION_LESS 4)
    message(FATAL_ERROR
      "${LEGACY_CHART_JS} is Chart.js '${CMAKE_MATCH_1}': 3.9 or newer, below 4, is needed")
  endif()
endif()

if(LEGACY_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # A100, H100; later ones compile PTX of the latter
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12 REQUIRED)
  # NCCL 2.14 or newer carries messages between GPUs, where it is installed; -DLEGACY_NCCL=OFF does
  # without.
  find_path(LEGACY_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(LEGACY_NCCL nccl HINTS "${CUDAToolkit_BIN_DIR}/.." PATH_SUFFIXES lib64 lib)
endif()

# LEGACY_PACKET: the packet engine is built. Under sanitizers it serves the tests of RoCEv2 alone,
# whose code is checked while ns-3's own is not.
set(LEGACY_PACKET ${LEGACY_NS3})
if(LEGACY_NS3)
  # ns-3's package accepts no request for another version than its own.
  find_package(ns3 REQUIRED)
  if(ns3_VERSION VERSION_LESS 3.37)
    message(FATAL_ERROR "ns-3 ${ns3_VERSION} in ${ns3_DIR} is too old: 3.37 or newer is needed")
  endif()
elseif(LEGACY_PROGRAMS AND LEGACY_ROCE_TESTS AND LEGACY_SANITIZE MATCHES "address")
  find_package(ns3 QUIET)
  if(ns3_FOUND AND ns3_VERSION VERSION_GREATER_EQUAL 3.37)
    set(LEGACY_PACKET ON)
  else()
    message(STATUS "RoCEv2 is not tested here: ns-3 3.37 or newer is not installed")
  endif()
endif()

if(LEGACY_TORCH)
  # A newer LibTorch is chosen by -DCMAKE_PREFIX_PATH=/path/to/libtorch. Its CMake files change how
  # CUDA is compiled, so our settings are restored.
  foreach(setting ARCHITECTURES FLAGS)
    set(own_${setting} "${CMAKE_CUDA_${setting}}")
  endforeach()
  find_package(Torch REQUIRED)
  foreach(setting ARCHITECTURES FLAGS)
    set(CMAKE_CUDA_${setting} "${own_${setting}}")
  endforeach()
  unset(CMAKE_CUDA_STANDARD)
  # This is libstdc++'s default, but it changes the command line, so that a precompiled header of
  # other targets would not fit. LibTorch 2.8 and newer do not set it.
  get_target_property(options torch INTERFACE_COMPILE_OPTIONS)
  if(options)
    list(REMOVE_ITEM options "-D_GLIBCXX_USE_CXX11_ABI=1")
    set_target_properties(torch PROPERTIES INTERFACE_COMPILE_OPTIONS "${options}")
  endif()
endif()

# Data sets: digests, images, and downloads.
if(LEGACY_PROGRAMS OR LEGACY_TORCH)
  # Nettle and not OpenSSL 3, whose licence (Apache-2.0) and that of ns-3 exclude each other.
  find_path(LEGACY_NETTLE_INCLUDE nettle/nettle-meta.h REQUIRED)
  find_library(LEGACY_NETTLE nettle REQUIRED)
  find_package(JPEG REQUIRED)
  find_package(PNG REQUIRED)
  # Crops are decoded alone, which libjpeg cannot do and libjpeg-turbo can.
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES "${JPEG_INCLUDE_DIRS}")
  set(CMAKE_REQUIRED_LIBRARIES "${JPEG_LIBRARIES}")
  check_symbol_exists(jpeg_crop_scanline "stddef.h;stdio.h;jpeglib.h" LEGACY_JPEG_TURBO)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT LEGACY_JPEG_TURBO)
    message(FATAL_ERROR "${JPEG_LIBRARIES} is not libjpeg-turbo 1.5 or newer")
  endif()
endif()
if(LEGACY_STUDIES)
  find_package(CURL REQUIRED)
  find_package(LibArchive REQUIRED)
endif()

# The Python module is for the system's Python, because Debian's pybind11 and NumPy are.
set(LEGACY_PYTHON OFF)
if(LEGACY_PROGRAMS AND NOT LEGACY_SANITIZE)
  find_program(LEGACY_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  set(Python_EXECUTABLE "${LEGACY_SYSTEM_PYTHON}")
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 2.10 QUIET)
  if(Python_FOUND AND pybind11_FOUND)
    set(LEGACY_PYTHON ON)
  else()
    message(STATUS
      "The Python module is not built: Python's headers or pybind11 are missing "
      "(./waf python installs them)")
  endif()
endif()

if(LEGACY_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(LEGACY_BENCH)
  find_package(benchmark REQUIRED)
  # SimGrid is a peer in benchmarks, where it is installed (Debian has no CMake package of it).
  find_path(LEGACY_SIMGRID_INCLUDE simgrid/s4u.hpp)
  find_library(LEGACY_SIMGRID simgrid)
endif()
