# Writes FILE, the source of VersionText(), where its text changes: -DFILE=... -DVERSION=...
# -DSOURCE=(the project's folder).
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-toplevel --short HEAD
                OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
string(REGEX REPLACE "\n.*" "" top "${answer}")
string(REGEX REPLACE ".*\n" "" commit "${answer}")
set(text "${VERSION}")
if(NOT failed AND top STREQUAL SOURCE)  # not a repository that the sources only lie in
  string(APPEND text " (${commit})")
endif()
string(CONCAT source
  "#include \"base/programs/arguments.h\"\n\n"
  "std::string legacy::VersionText() { return \"${text}\"; }\n")
set(old "")
if(EXISTS "${FILE}")
  file(READ "${FILE}" old)
endif()
if(NOT old STREQUAL source)
  file(WRITE "${FILE}" "${source}")
endif()
