# Installs base, compress and fabric into an empty prefix, and builds and runs consumer/ against it.
# -D sets BUILD, GENERATOR, COMPILER, BUILD_TYPE (of the build to install) and CONSUMER (its
# folder).
set(scratch "${BUILD}/install_test")
file(REMOVE_RECURSE "${scratch}")

foreach(component core base texts compress fabric package)
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${scratch}/prefix"
                  --component ${component} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endforeach()
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${scratch}/build" -G "${GENERATOR}"
                        -DCMAKE_PREFIX_PATH=${scratch}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
                        -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${scratch}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${scratch}/build/consumer" COMMAND_ERROR_IS_FATAL ANY)
