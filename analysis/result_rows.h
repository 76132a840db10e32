// Results are rows, which are written as CSV or JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace legacy {

using Row = nlohmann::ordered_json;  // object; its nested values are written as JSON only

// Return the rows as text, CSV with a header. All rows have the keys of the first.
std::string CsvText(const std::vector<Row>& rows);
std::string JsonText(const std::vector<Row>& rows);

// Throws Error naming `option` where `path` cannot be written; "-" is standard output.
void CheckOutput(const std::string& path, const std::string& option);
// Writes the whole text or nothing.
void WriteOutput(const std::string& path, const std::string& text);

}  // namespace legacy
