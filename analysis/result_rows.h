// Results as rows, for CSV and JSON, and files of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace legacy {

using Row = nlohmann::ordered_json;  // an object; nested values go into JSON only

// Header and rows; all rows have the keys of the first.
std::string CsvText(const std::vector<Row>& rows);
std::string JsonText(const std::vector<Row>& rows);

// Throws Error naming `option` where nothing can be written there; "-" is standard output.
void CheckOutput(const std::string& path, const std::string& option);
// The whole text or nothing.
void WriteOutput(const std::string& path, const std::string& text);

}  // namespace legacy
