# What the fabric uses of base/: C++17, and no library but yaml-cpp and zlib. base/ is beside this
# folder, or in it where the module is published by itself (./waf ns3-app).
set(base ${CMAKE_CURRENT_LIST_DIR}/../base)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/base)
  set(base ${CMAKE_CURRENT_LIST_DIR}/base)
endif()
set(LEGACY_CORE_SOURCES
  ${base}/draws.cc
  ${base}/nearest.cc
  ${base}/number.cc
  ${base}/parse.cc
  ${base}/settings.cc
  ${base}/units.cc
  ${base}/words.cc)
set(LEGACY_TEXTS_SOURCES
  ${base}/files/csv_file.cc
  ${base}/files/text_file.cc
  ${base}/files/yaml_text.cc)
