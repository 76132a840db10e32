// A part file grows under a temporary name and is then renamed, so that the final name belongs to a
// whole file only.
#pragma once

#include <filesystem>

#include "base/output_file.h"

namespace legacy {

// A PartFile is a file under a temporary name that belongs to this process. It is removed unless it
// was renamed.
class PartFile {
 public:
  // Creates the file beside `final_name`, and the folder where it is not there. Throws Error.
  explicit PartFile(const std::filesystem::path& final_name);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  OutputFile& file() { return file_; }
  const std::filesystem::path& path() const { return file_.path(); }
  // Closes the file and gives it its final name. Throws Error.
  void Keep();

 private:
  std::filesystem::path final_;
  OutputFile file_;
};

}  // namespace legacy
