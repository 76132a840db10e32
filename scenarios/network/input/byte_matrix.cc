#include "scenarios/network/input/byte_matrix.h"

#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/units.h"

namespace legacy {
namespace {

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what;
}

}  // namespace

std::vector<int64_t> ReadByteMatrix(const std::string& path, int workers) {
  const auto count = static_cast<size_t>(workers);
  const std::string each = ", one for each of the workers (--workers)";
  std::vector<int64_t> bytes;
  size_t sender = 0;
  CsvRows rows(path, ReadCsvText(path, "--matrix"), CsvKind::kByHand);
  while (rows.Next()) {
    const std::string where = rows.Where();
    if (rows.Cells().size() != count) {
      throw Error(where, Count(rows.Cells().size(), "sizes"), std::to_string(count) + each);
    }
    if (sender == count) throw Error(where, "one more line", std::to_string(count) + " lines");
    for (size_t receiver = 0; receiver < count; ++receiver) {
      const int64_t size = ParseBytes(std::string(rows.Cells()[receiver]),
                                      where + ": bytes to worker " + std::to_string(receiver));
      bytes.push_back(sender == receiver ? 0 : size);
    }
    ++sender;
  }
  if (sender != count) throw Error(path, Count(sender, "lines"), std::to_string(count) + each);
  return bytes;
}

std::vector<int64_t> EvenByteMatrix(const std::vector<int64_t>& bytes) {
  const auto workers = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> matrix;
  for (int64_t sender = 0; sender < workers; ++sender) {
    for (int64_t receiver = 0; receiver < workers; ++receiver) {
      const int64_t part = bytes[sender] / workers + (receiver < bytes[sender] % workers ? 1 : 0);
      matrix.push_back(sender == receiver ? 0 : part);
    }
  }
  return matrix;
}

}  // namespace legacy
