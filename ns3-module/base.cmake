# What the fabric uses of base/: C++17, and no library but yaml-cpp and zlib.
set(base ${CMAKE_CURRENT_LIST_DIR}/../base)
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
