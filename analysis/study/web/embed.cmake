# Writes the page's parts into one C++ source, as literals:
#   cmake -DWEB=... -DCHART=... -DOUTPUT=... -P embed.cmake

# text(file out): reads a file as the body of a raw literal.
function(text file out)
  file(READ "${file}" content)
  if(content MATCHES "\\)page\"" OR (file MATCHES "\\.js$" AND content MATCHES "</script"))
    message(FATAL_ERROR
      "${file} contains text that would end the literal or the script that it becomes part of")
  endif()
  set(${out} "${content}" PARENT_SCOPE)
endfunction()

text("${WEB}/report.html" html)
text("${WEB}/report.css" css)
text("${CHART}" chart)
set(script "")
# In the order of their use.
foreach(name statistics figure_tools charts figures crossover conclusions closed_forms page_answers
        what_if run report)
  text("${WEB}/${name}.js" part)
  string(APPEND script "${part}")
endforeach()

file(WRITE "${OUTPUT}.new" "// Made by analysis/study/web/embed.cmake.
#include \"analysis/study/web/page_parts.h\"

namespace legacy::analysis {
const char* const kPageHtml = R\"page(${html})page\";
const char* const kPageStyle = R\"page(${css})page\";
const char* const kPageCharts = R\"page(${chart})page\";
const char* const kPageScript = R\"page(${script})page\";
}  // namespace legacy::analysis
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
