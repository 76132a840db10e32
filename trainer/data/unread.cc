#include "trainer/data/unread.h"

namespace legacy {

std::vector<std::string> UnreadParts(const CatalogEntry& entry, const std::filesystem::path& root) {
  using Format = CatalogEntry::Format;
  std::vector<std::string> parts;
  switch (entry.format) {
    case Format::kCifar10:
    case Format::kCifar100:
      if (entry.format == Format::kCifar100) parts.emplace_back("coarse labels");
      for (const std::filesystem::path& file : DataFiles(entry, root)) {
        if (!std::filesystem::exists(file)) parts.push_back(file.string() + ": not there");
      }
      break;
    case Format::kRatings:
      parts.emplace_back("values of ratings: that there is one counts");
      break;
    default:
      break;
  }
  return parts;
}

}  // namespace legacy
