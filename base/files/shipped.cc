#include "base/files/shipped.h"

#include <dlfcn.h>

#include <cstdlib>

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns the folder whose lib, lib64 or bin holds the library, or the program, with this function;
// empty if none does.
fs::path Prefix() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&ShippedFolders), &info) == 0) return {};
  std::error_code failed;
  fs::path folder = fs::canonical(info.dli_fname, failed).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path name = folder.filename();
    if (name == "lib" || name == "lib64" || name == "bin") return folder.parent_path();
  }
  return {};
}

}  // namespace

std::vector<fs::path> ShippedFolders(const char* variable, const std::string& name,
                                     const fs::path& source) {
  std::vector<fs::path> folders;
  const char* chosen = variable ? std::getenv(variable) : nullptr;
  if (chosen) folders.emplace_back(chosen);
  static const fs::path prefix = Prefix();
  const fs::path installed = prefix / LEGACY_DATA_DIR / name;
  std::error_code failed;
  folders.push_back(fs::is_directory(installed, failed) ? installed : source);
  return folders;
}

}  // namespace legacy
