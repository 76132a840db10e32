#include "analysis/result_rows.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "analysis/csv.h"
#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string CsvText(const std::vector<Row>& rows) {
  std::string text;
  std::vector<std::string> fields;
  for (const auto& [key, value] : rows.front().items()) {
    if (!value.is_structured()) fields.push_back(key);
  }
  const std::vector<std::string> keys = fields;
  text += analysis::CsvLine(fields);
  for (const Row& row : rows) {
    fields.clear();
    for (const std::string& key : keys) {
      const Row& value = row.at(key);
      fields.push_back(value.is_null()           ? ""
                       : value.is_string()       ? value.get<std::string>()
                       : value.is_number_float() ? analysis::CsvNumber(value.get<double>())
                                                 : value.dump());
    }
    text += analysis::CsvLine(fields);
  }
  return text;
}

std::string JsonText(const std::vector<Row>& rows) { return Row(rows).dump(1) + "\n"; }

void CheckOutput(const std::string& path, const std::string& option) {
  if (path.empty() || path == "-") return;
  if (fs::is_directory(path)) throw Error(option, path, "a file; this is a folder");
  const fs::path place = FollowLinks(path);
  if (!MayReplace(place)) {
    if (access(place.c_str(), W_OK) == 0) return;
    throw Error(option, path, "a file that may be written to");
  }
  const fs::path folder = fs::absolute(place).parent_path();
  if (!fs::is_directory(folder) || access(folder.c_str(), W_OK) != 0) {
    throw Error(option, path, "a file in a folder that exists and can be written to, or -");
  }
}

void WriteOutput(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);  // the text may have zero bytes
    return;
  }
  WriteWholeFile(path, text);
}

}  // namespace legacy
