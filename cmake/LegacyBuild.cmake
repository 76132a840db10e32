# Flags of the compiler and the linker. They are set nowhere else.

include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build profile" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# Libraries are shared. Programs and tests link fast, and the training module, which is loaded on
# demand with LibTorch, uses the same libraries. Programs find them by a path relative to their own
# folder.
set(BUILD_SHARED_LIBS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # programs load a library that was linked again
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib;$ORIGIN")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
set(LEGACY_SANITIZE "" CACHE STRING
    "Sanitizers for everything, as in -fsanitize=: address,undefined or thread")

find_program(LEGACY_CCACHE ccache)
if(LEGACY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LEGACY_CCACHE}")
endif()

# Sources of a target are compiled in batches, which read their headers once and take half the
# processor time. Helpers of two sources of a target must then have different names, and a build
# after a change to one source takes longer.
option(CMAKE_UNITY_BUILD "Compile the sources of a target in batches" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "So many at most, 0: all")

# legacy_separate_sources(target): compiles each source of the target alone.
function(legacy_separate_sources target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()

# legacy_one_batch(target): compiles all sources of the target at once. For those that include
# LibTorch, whose headers take 10 s of each batch.
function(legacy_one_batch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# GCC collects its garbage from half a gigabyte on instead of an eighth, which saves 8 % of the
# processor time and takes up to 300 MB more.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)

# Every command of the build records its processor time, for ./waf build --timings.
set(timed "${CMAKE_SOURCE_DIR}/cmake/timed.sh ${CMAKE_BINARY_DIR}/timings <TARGET_NAME>")
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${timed} <OBJECT>")
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "${timed} <TARGET>")

# Gold (of GNU's binutils) is used where it is installed: LibTorch's programs link in a quarter of
# the time. It warns of symbols that the address sanitizer exports.
check_linker_flag(CXX -fuse-ld=gold LEGACY_GOLD)
if(LEGACY_GOLD AND NOT LEGACY_SANITIZE)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=gold>)
endif()

# A library calls the functions that it was compiled with. Otherwise it would call those of the
# templates of the standard library that the program or a library before it was compiled with, which
# are not optimized in tests.
check_linker_flag(CXX -Wl,-Bsymbolic-functions LEGACY_SYMBOLIC)
if(LEGACY_SYMBOLIC)
  string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,-Bsymbolic-functions")
  string(APPEND CMAKE_MODULE_LINKER_FLAGS " -Wl,-Bsymbolic-functions")
endif()

# The address sanitizer checks what is tested. Its checks of tests' own code would take a third of
# the time of compiling them.
set(legacy_unchecked_test)
if(LEGACY_SANITIZE MATCHES "address")
  set(legacy_unchecked_test -fno-sanitize=all)
endif()

# Flags for sources that take long to compile, but not to run.
set(legacy_lightly $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# legacy_light_folder([SANITIZED]): the sources of this folder and of those below take long to
# compile, but not to run. They are hardly optimized, and not at all under a sanitizer, which
# doubles the time of compiling. SANITIZED: under a sanitizer alone. With
# -DCMAKE_CXX_FLAGS_DEBUG=-O2 instead of the preset's -O1, as for long fuzzing
# (docs/results/evidence.md), all is optimized.
macro(legacy_light_folder)
  if(LEGACY_SANITIZE AND CMAKE_CXX_FLAGS_DEBUG MATCHES "-O1")
    add_compile_options(-O0)
  elseif(NOT "${ARGV0}" STREQUAL "SANITIZED")
    add_compile_options(${legacy_lightly})
  endif()
endmacro()

function(legacy_flags target standard)
  target_compile_features(${target} PUBLIC cxx_std_${standard})
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  # The compiler must not contract to fused multiply-add, so that results do not depend on
  # optimisation.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # A library calls its own functions directly, as nothing replaces them.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  if(LEGACY_SANITIZE)
    # The address sanitizer finds null pointers and ends of objects in half the time. The accesses
    # of light folders are aligned, because they read text.
    set(unchecked null,object-size,pointer-overflow)
    get_directory_property(options COMPILE_OPTIONS)
    if("-O0" IN_LIST options)
      string(APPEND unchecked ",alignment")
    endif()
    target_compile_options(${target} PUBLIC -fsanitize=${LEGACY_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_compile_options(${target} PRIVATE -fno-sanitize=${unchecked})
    target_compile_definitions(${target} PRIVATE LEGACY_SANITIZED)
    target_link_options(${target} PUBLIC -fsanitize=${LEGACY_SANITIZE})
  endif()
endfunction()

# legacy_library(name STANDARD 20 SOURCES ...): adds a library "legacy::name", which includes from
# the root. It is installed with its folder's headers (see LegacyInstall).
function(legacy_library name)
  cmake_parse_arguments(ARG "" "STANDARD" "SOURCES" ${ARGN})
  add_library(legacy_${name} ${ARG_SOURCES})
  add_library(legacy::${name} ALIAS legacy_${name})
  set_target_properties(legacy_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(legacy_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/legacy>)
  legacy_flags(legacy_${name} ${ARG_STANDARD})
  # Fuzzers follow the code that they reach in libraries. Tracing its comparisons would take a
  # quarter of the time of some families.
  if(LEGACY_FUZZ)
    target_compile_options(legacy_${name} PRIVATE -fsanitize=fuzzer-no-link
      -fno-sanitize-coverage=trace-cmp)
  endif()
  set_property(GLOBAL APPEND PROPERTY LEGACY_LIBRARIES ${name})
endfunction()

# legacy_sources(variable PATTERN ...): finds sources of the current folder, again whenever a file
# comes into one of their folders or leaves it. (CONFIGURE_DEPENDS would run CMake before every
# build, and hide from `ninja -n` what is to be built.)
function(legacy_sources variable)
  file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${ARGN})
  set(folders)
  foreach(source ${sources})
    get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DIRECTORY)
    list(APPEND folders "${folder}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folders})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# legacy_rows(name TYPE ...): writes the header legacy_rows.h for the sources of library "name". It
# declares the functions "TYPE functionRow()" that those sources define, and has a function
# "std::vector<TYPE> TYPEs()" that returns what they return in the order of names, for each TYPE. So
# a method is a file of its own, and stands in no list.
function(legacy_rows name)
  get_target_property(sources legacy_${name} SOURCES)
  list(SORT sources)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set(declared "")
  set(functions "")
  foreach(type ${ARGN})
    set(calls "")
    foreach(source ${sources})
      file(STRINGS "${source}" lines REGEX "^${type} [A-Za-z0-9]+Row\\(\\) {$")
      foreach(line ${lines})
        string(REGEX REPLACE "^${type} ([A-Za-z0-9]+\\(\\)) {$" "\\1" call "${line}")
        string(APPEND declared "${type} ${call};  // ${source}\n")
        list(APPEND calls "${call}")
      endforeach()
    endforeach()
    list(JOIN calls ", " calls)
    string(APPEND functions
      "inline std::vector<${type}> ${type}s() { return SortedRows<${type}>({${calls}}); }\n")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/rows")
  file(CONFIGURE OUTPUT "${folder}/legacy_rows.h" CONTENT
    "// legacy_rows (cmake/LegacyBuild.cmake) writes this file.\n#pragma once\n
#include <algorithm>\n#include <vector>\n
namespace legacy {\n
template <typename Row>
std::vector<Row> SortedRows(std::vector<Row> rows) {
  std::ranges::sort(rows, {}, [](const Row& row) { return row.info.name; });
  return rows;
}\n
@declared@\n@functions@\n}  // namespace legacy\n" @ONLY)
  target_include_directories(legacy_${name} PRIVATE "${folder}")
endfunction()

# Products and sums are not contracted and denormals are kept, so that results have the bits of the
# CPU. Sources are compiled apart: CMake 3.31 and newer would put CUDA sources into batches, too,
# which instantiate the same templates.
function(legacy_cuda_flags target)
  legacy_separate_sources(${target})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -std=c++20  # CMake 3.25 does not know which standards a newer nvcc has
    --expt-relaxed-constexpr -fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off>)
endfunction()

# legacy_cuda_library(name SOURCES ... LIBRARIES ...): adds a library of CUDA sources. A kernel that
# spills registers or uses local memory fails the build.
function(legacy_cuda_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(legacy_${name} STATIC ${ARG_SOURCES})
  add_library(legacy::${name} ALIAS legacy_${name})
  set_target_properties(legacy_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(legacy_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/legacy>)
  target_compile_features(legacy_${name} PUBLIC cxx_std_20)
  legacy_cuda_flags(legacy_${name})
  target_compile_options(legacy_${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -Xptxas=--warn-on-spills,--warn-on-local-memory-usage,--warning-as-error>)
  target_link_libraries(legacy_${name} PUBLIC ${ARG_LIBRARIES} CUDA::cudart)
  set_property(GLOBAL APPEND PROPERTY LEGACY_LIBRARIES ${name})
endfunction()

# legacy_cuda_program(name SOURCES ... LIBRARIES ...): adds an executable of C++ and CUDA sources,
# for a machine with a GPU.
function(legacy_cuda_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  legacy_cuda_flags(${name})
endfunction()

# legacy_gpu_test(name SOURCES ... LIBRARIES ...): adds a GoogleTest binary of C++ sources compiled
# as CUDA, for a machine with a GPU. ctest does not run it. They are compiled in two batches, since
# nvcc spends most of the time on headers; CMake has unity builds of CUDA from 3.31 on.
function(legacy_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  list(TRANSFORM ARG_SOURCES REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n")
  list(LENGTH ARG_SOURCES count)
  math(EXPR half "(${count} + 1) / 2")
  add_executable(${name})
  foreach(first 0 ${half})
    list(SUBLIST ARG_SOURCES ${first} ${half} includes)
    list(JOIN includes "" content)
    set(batch "${CMAKE_CURRENT_BINARY_DIR}/${name}_from_${first}.cu")
    file(CONFIGURE OUTPUT "${batch}" CONTENT "${content}")
    target_sources(${name} PRIVATE "${batch}")
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  legacy_cuda_flags(${name})
  target_compile_options(${name} PRIVATE -O1)  # optimizes the host's part
endfunction()

# legacy_program(name SOURCES ... LIBRARIES ...): adds an installed program.
function(legacy_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  legacy_flags(${name} 20)
  install(TARGETS ${name} RUNTIME COMPONENT programs)
  install(FILES "${CMAKE_SOURCE_DIR}/cmake/completion.bash" RENAME ${name} COMPONENT programs
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
endfunction()

# The default build leaves out long tests (./waf test -L long) and benchmarks (./waf bench).
add_custom_target(legacy-long-tests)
add_custom_target(legacy-benchmarks)

# GoogleTest's header takes a third of the time of compiling most tests, so it is precompiled once.
# Flags that change the code must be those of its users, which are executables without optimization.
# All tests have one main function.
function(legacy_test_headers)
  file(WRITE "${CMAKE_BINARY_DIR}/legacy_test_headers.cc" "")
  add_library(legacy_test_headers OBJECT
    EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/legacy_test_headers.cc")
  set_target_properties(legacy_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(legacy_test_headers PRIVATE GTest::gtest)
  legacy_flags(legacy_test_headers 20)
  target_compile_options(legacy_test_headers PRIVATE -fPIE -O0 ${legacy_unchecked_test})
  target_precompile_headers(legacy_test_headers PRIVATE <gtest/gtest.h>)
  add_library(legacy_test_main STATIC EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/tests/main.cc")
  target_link_libraries(legacy_test_main PUBLIC GTest::gtest)
  legacy_flags(legacy_test_main 17)
  target_compile_options(legacy_test_main PRIVATE -O0)
endfunction()

# legacy_test(name SOURCES ... LIBRARIES ... [PREFIX text] [FILTER cases] [SLOW cases ...]
# [OPTIMIZED] [WHOLE | LONG]): adds a GoogleTest binary with one ctest entry for each case. WHOLE:
# one entry for all cases, which share a costly setup. Under a sanitizer all tests are so, because
# starting a process takes longer there than most cases. LONG: one entry, with the label long.
# FILTER: the cases to run, as in --gtest_filter. SLOW: the cases that a sanitizer runs in an entry
# of their own with the label long, because they repeat for a minute what others do once. Tests are
# compiled without optimization, or with -O1 where OPTIMIZED is given; the libraries that they test
# are compiled as elsewhere.
function(legacy_test name)
  cmake_parse_arguments(ARG "LONG;OPTIMIZED;WHOLE" "STANDARD;PREFIX;FILTER"
    "SOURCES;LIBRARIES;SLOW" ${ARGN})
  if(NOT ARG_STANDARD)
    set(ARG_STANDARD 20)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} legacy_test_main)
  legacy_flags(${name} ${ARG_STANDARD})
  if(ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE -O0 ${legacy_unchecked_test})
    if(ARG_STANDARD EQUAL 20)
      target_precompile_headers(${name} REUSE_FROM legacy_test_headers)
    endif()
  endif()
  if(ARG_LONG)
    legacy_not_by_default(${name} legacy-long-tests)
    add_test(NAME ${ARG_PREFIX}${name} COMMAND ${name})
    set_tests_properties(${ARG_PREFIX}${name} PROPERTIES LABELS long TIMEOUT 3600)
  elseif(ARG_WHOLE OR LEGACY_SANITIZE)
    set(cases)
    if(ARG_SLOW AND LEGACY_SANITIZE)
      list(JOIN ARG_SLOW ":" slow)
      set(cases --gtest_filter=-${slow})
      add_test(NAME ${ARG_PREFIX}${name}.slow COMMAND ${name} --gtest_filter=${slow})
      set_tests_properties(${ARG_PREFIX}${name}.slow PROPERTIES LABELS long TIMEOUT 3600)
    endif()
    add_test(NAME ${ARG_PREFIX}${name} COMMAND ${name} ${cases})
    set_tests_properties(${ARG_PREFIX}${name} PROPERTIES TIMEOUT 900)
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_FILTER}"
                         DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# legacy_not_by_default(name group): builds target `name` only where it or `group` is asked for.
function(legacy_not_by_default name group)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(${group} ${name})
endfunction()

# legacy_benchmark(name SOURCES ... LIBRARIES ...): adds a Google Benchmark binary. ./waf bench runs
# those named legacy-bench-*.
function(legacy_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} benchmark::benchmark_main)
  legacy_flags(${name} 20)
  target_compile_options(${name} PRIVATE ${legacy_lightly})  # what it calls takes the time
  legacy_not_by_default(${name} legacy-benchmarks)
endfunction()
