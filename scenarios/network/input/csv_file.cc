#include "scenarios/network/input/csv_file.h"

#include "base/files/whole_file.h"
#include "base/words.h"

namespace legacy {
std::vector<analysis::CsvRecord> ReadCsvFile(const std::string& path) {
  std::string text = ReadWholeFile(path);
  if (!text.empty() && text.back() != '\n') text += '\n';
  std::vector<analysis::CsvRecord> records;
  analysis::CsvParser parser(path, text);
  for (analysis::CsvRecord record; parser.Next(record);) {
    for (std::string& field : record.fields) field = Trimmed(field);
    const std::string& first = record.fields.front();
    if (first.starts_with("#") || (record.fields.size() == 1 && first.empty())) continue;
    records.push_back(record);
  }
  return records;
}

}  // namespace legacy
