# Writes FILE, the header that names the interface between programs and plugins: VERSION, a digest
# of HEADERS, which both include, and COMPILER.
set(digests "")
foreach(header IN LISTS HEADERS)
  file(SHA256 "${header}" digest)
  string(APPEND digests "${digest}")
endforeach()
string(SHA256 interface "${digests}")
string(SUBSTRING "${interface}" 0 12 interface)
file(WRITE "${FILE}"
  "#pragma once\n#define LEGACY_PLUGIN_INTERFACE \"${VERSION} ${interface} ${COMPILER}\"\n")
