# How our code is compiled; the only place for flags.

include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build profile" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# Libraries are shared: programs and tests link in no time, and what is loaded when it is asked for (training with LibTorch)
# uses the same ones. Programs find them beside themselves, wherever the folder is.
set(BUILD_SHARED_LIBS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # a library that is linked anew is what programs find
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib;$ORIGIN")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN")
set(LEGACY_SANITIZE "" CACHE STRING "Sanitizers for everything, as in -fsanitize=: address,undefined or thread")

find_program(LEGACY_CCACHE ccache)
if(LEGACY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LEGACY_CCACHE}")
endif()

# Sources of a target are compiled several at once, which reads what they include once: half the processor time.
# Helpers of two sources of a target may then not share a name; ninja takes longer after a change to one of them.
option(CMAKE_UNITY_BUILD "Compile the sources of a target in batches" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "So many at most, 0: all")

# legacy_separate_sources(target): each of its sources is compiled alone.
function(legacy_separate_sources target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()

# What processor time each command of the build took, for ./waf build --timings.
set(timed "${CMAKE_SOURCE_DIR}/cmake/timed.sh ${CMAKE_BINARY_DIR}/timings <TARGET_NAME>")
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${timed} <OBJECT>")
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "${timed} <TARGET>")

# Gold where there is one (GNU's binutils): LibTorch's programs link in a quarter of the time. It warns of what the address
# sanitizer exports.
check_linker_flag(CXX -fuse-ld=gold LEGACY_GOLD)
if(LEGACY_GOLD AND NOT LEGACY_SANITIZE)
  add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=gold>)
endif()

# For sources that take no time, but to compile.
set(legacy_lightly $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# legacy_light_folder([SANITIZED]): what this folder and those below do takes no time, but to compile. So it is hardly
# optimized, and not at all under a sanitizer, which doubles that. SANITIZED: there alone. With -DCMAKE_CXX_FLAGS_DEBUG=-O2
# instead of the preset's -O1, as for long fuzzing (docs/evidence.md), all is optimized.
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
  # No contraction to fused multiply-add behind our back: results must not depend on the optimiser's mood.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # A library calls its own functions as a program does; nobody puts others in their place.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  if(LEGACY_SANITIZE)
    # Null pointers and ends of objects are the address sanitizer's, at half the time. Light folders read text, no numbers
    # in the middle of bytes: their accesses are aligned.
    set(unchecked null,object-size,pointer-overflow)
    get_directory_property(options COMPILE_OPTIONS)
    if("-O0" IN_LIST options)
      string(APPEND unchecked ",alignment")
    endif()
    target_compile_options(${target} PUBLIC -fsanitize=${LEGACY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_compile_options(${target} PRIVATE -fno-sanitize=${unchecked})
    target_link_options(${target} PUBLIC -fsanitize=${LEGACY_SANITIZE})
  endif()
endfunction()

# legacy_library(name STANDARD 20 SOURCES ...): a library "legacy::name" that includes from the root; installed
# with its folder's headers (see LegacyInstall).
function(legacy_library name)
  cmake_parse_arguments(ARG "" "STANDARD" "SOURCES" ${ARGN})
  add_library(legacy_${name} ${ARG_SOURCES})
  add_library(legacy::${name} ALIAS legacy_${name})
  set_target_properties(legacy_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(legacy_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/legacy>)
  legacy_flags(legacy_${name} ${ARG_STANDARD})
  if(LEGACY_FUZZ)  # fuzzers follow what they reach in libraries; what is compared there would take a quarter of some families' time
    target_compile_options(legacy_${name} PRIVATE -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
  endif()
  set_property(GLOBAL APPEND PROPERTY LEGACY_LIBRARIES ${name})
endfunction()

# Products and sums are not contracted and denormals are kept: the bits of the CPU.
function(legacy_cuda_flags target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -std=c++20  # CMake 3.25 does not know which standards a newer nvcc has
    --expt-relaxed-constexpr -fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -ffp-contract=off>)
endfunction()

# legacy_cuda_library(name SOURCES ... LIBRARIES ...): a library of CUDA sources. A kernel that spills registers or uses
# local memory fails the build.
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

# legacy_cuda_program(name SOURCES ... LIBRARIES ...): an executable of C++ and CUDA sources, for a machine with a GPU.
function(legacy_cuda_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  legacy_cuda_flags(${name})
endfunction()

# legacy_gpu_test(name SOURCES ... LIBRARIES ...): a GoogleTest binary of C++ sources compiled as CUDA, for a machine with a
# GPU: not one of ctest's.
function(legacy_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_source_files_properties(${ARG_SOURCES} TARGET_DIRECTORY ${name} PROPERTIES LANGUAGE CUDA)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  legacy_cuda_flags(${name})
  target_compile_options(${name} PRIVATE -O1)  # of the host's part
endfunction()

# legacy_program(name SOURCES ... LIBRARIES ...): an installed program.
function(legacy_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  legacy_flags(${name} 20)
  install(TARGETS ${name} RUNTIME COMPONENT programs)
  install(FILES "${CMAKE_SOURCE_DIR}/cmake/completion.bash" RENAME ${name} COMPONENT programs
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
endfunction()

# What the default build leaves out: what takes long to test (./waf test -L long), and what is timed (./waf bench).
add_custom_target(legacy-long-tests)
add_custom_target(legacy-benchmarks)

# GoogleTest's header, which takes a third of the time that most tests take to compile, is precompiled once. Flags that
# decide what code is must be those of its users: executables without optimization.
function(legacy_test_headers)
  file(WRITE "${CMAKE_BINARY_DIR}/legacy_test_headers.cc" "")
  add_library(legacy_test_headers OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/legacy_test_headers.cc")
  set_target_properties(legacy_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(legacy_test_headers PRIVATE GTest::gtest_main)
  legacy_flags(legacy_test_headers 20)
  target_compile_options(legacy_test_headers PRIVATE -fPIE -O0)
  target_precompile_headers(legacy_test_headers PRIVATE <gtest/gtest.h>)
endfunction()

# legacy_test(name SOURCES ... LIBRARIES ... [PREFIX text] [FILTER cases] [OPTIMIZED] [WHOLE | LONG]): a GoogleTest binary,
# one ctest entry a case. WHOLE: one entry in all, for cases that share what is dear to set up; under a sanitizer always,
# as starting a process takes longer there than most cases. LONG: the same, with the label long. FILTER: the cases to run,
# as in --gtest_filter. What is tested is compiled as elsewhere, tests themselves without optimization, OPTIMIZED: with -O1.
function(legacy_test name)
  cmake_parse_arguments(ARG "LONG;OPTIMIZED;WHOLE" "STANDARD;PREFIX;FILTER" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_STANDARD)
    set(ARG_STANDARD 20)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  legacy_flags(${name} ${ARG_STANDARD})
  if(ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE -O0)
    if(ARG_STANDARD EQUAL 20)
      target_precompile_headers(${name} REUSE_FROM legacy_test_headers)
    endif()
  endif()
  if(ARG_LONG)
    legacy_not_by_default(${name} legacy-long-tests)
    add_test(NAME ${ARG_PREFIX}${name} COMMAND ${name})
    set_tests_properties(${ARG_PREFIX}${name} PROPERTIES LABELS long TIMEOUT 3600)
  elseif(ARG_WHOLE OR LEGACY_SANITIZE)
    add_test(NAME ${ARG_PREFIX}${name} COMMAND ${name})
    set_tests_properties(${ARG_PREFIX}${name} PROPERTIES TIMEOUT 900)
  else()
    gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_FILTER}" DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# legacy_not_by_default(name group): target `name` is built where it or `group` is asked for.
function(legacy_not_by_default name group)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(${group} ${name})
endfunction()

# legacy_benchmark(name SOURCES ... LIBRARIES ...): a Google Benchmark binary; ./waf bench runs those named legacy-bench-*.
function(legacy_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} benchmark::benchmark_main)
  legacy_flags(${name} 20)
  legacy_not_by_default(${name} legacy-benchmarks)
endfunction()
