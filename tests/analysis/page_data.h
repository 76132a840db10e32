// The data of a page of a study or of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace legacy::analysis {

// Returns the data that a page holds, read as a browser would.
inline nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"study\">";
  const size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace legacy::analysis
