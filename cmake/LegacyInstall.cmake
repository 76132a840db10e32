# cmake --install installs programs, libraries, headers, data, licences, and a package for
# find_package(legacy). Every library is an install component of its own, so that compress and
# fabric can be installed alone:
#   cmake --install build/release --prefix DIR --component compress
# It needs the components base and package, too.

include(CMakePackageConfigHelpers)
set(LEGACY_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/legacy" CACHE STRING
    "Where the CMake package is installed, below the prefix")
set(LEGACY_DATA_DIR "${CMAKE_INSTALL_DATADIR}/legacy")

# legacy_requirements(library packages libraries): sets what a library was linked with, as CMake
# packages and as libraries of this project. The package of an imported target is the part of its
# name before "::", except for SQLite's and CUDA's; targets of yaml-cpp and LibTorch have no such
# part. All other items are plain libraries and flags.
function(legacy_requirements library out_packages out_libraries)
  set(packages "")
  set(libraries "")
  get_target_property(items legacy_${library} LINK_LIBRARIES)
  if(NOT items)
    set(items "")
  endif()
  foreach(item IN LISTS items)
    if(item MATCHES "^legacy(_|::)(.+)$")
      list(APPEND libraries ${CMAKE_MATCH_2})
    elseif(item MATCHES "^torch")
      list(APPEND packages Torch)
    elseif(item MATCHES "^SQLite::")
      list(APPEND packages SQLite3)
    elseif(item MATCHES "^CUDA::")
      list(APPEND packages CUDAToolkit)
    elseif(item MATCHES "^(yaml-cpp)$|^([A-Za-z0-9_-]+)::")
      list(APPEND packages ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  list(REMOVE_DUPLICATES libraries)
  set(${out_packages} "${packages}" PARENT_SCOPE)
  set(${out_libraries} "${libraries}" PARENT_SCOPE)
endfunction()

get_property(libraries GLOBAL PROPERTY LEGACY_LIBRARIES)
set(requirements "")
foreach(library IN LISTS libraries)
  legacy_requirements(${library} packages needed)
  string(APPEND requirements "set(_legacy_${library}_packages ${packages})\n"
                             "set(_legacy_${library}_libraries ${needed})\n")
  get_target_property(folder legacy_${library} SOURCE_DIR)
  file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}" "${folder}")
  install(TARGETS legacy_${library} EXPORT legacy-${library} COMPONENT ${library})
  install(EXPORT legacy-${library} NAMESPACE legacy:: DESTINATION "${LEGACY_PACKAGE_DIR}"
    COMPONENT ${library})
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/${folder}/"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/legacy/${folder}"
          COMPONENT ${library}
          FILES_MATCHING PATTERN "*.h" PATTERN test EXCLUDE PATTERN bench EXCLUDE)
endforeach()

if(TARGET legacy_packet)  # its sources are in two folders
  install(DIRECTORY ns3-module/helper DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/legacy/ns3-module"
          COMPONENT packet FILES_MATCHING PATTERN "*.h")
endif()

configure_package_config_file(cmake/legacyConfig.cmake.in legacyConfig.cmake
                              INSTALL_DESTINATION "${LEGACY_PACKAGE_DIR}" PATH_VARS LEGACY_DATA_DIR)
write_basic_package_version_file(legacyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/legacyConfig.cmake"
        "${CMAKE_BINARY_DIR}/legacyConfigVersion.cmake"
        DESTINATION "${LEGACY_PACKAGE_DIR}" COMPONENT package)

install(DIRECTORY topologies trainer/clock/profiles DESTINATION "${LEGACY_DATA_DIR}"
        COMPONENT data
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.topo" PATTERN "*.csv" PATTERN "*.json")
install(DIRECTORY scenarios DESTINATION "${LEGACY_DATA_DIR}"
        COMPONENT data FILES_MATCHING PATTERN "*.yaml" PATTERN "*.trace")
install(DIRECTORY analysis/python DESTINATION "${LEGACY_DATA_DIR}" COMPONENT data
  FILES_MATCHING PATTERN "*.py")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT package)
install(FILES ns3-module/LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}/ns3-module" COMPONENT package)
