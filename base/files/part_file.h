// A part file grows under a temporary name and is then renamed, so that the final name belongs to a
// whole file only.
#pragma once

#include <filesystem>

#include "base/files/output_file.h"

namespace legacy {

// A PartFile has a temporary name, NAME.PROCESS-NUMBER.tmp next to NAME, that belongs to it alone.
// It is locked (flock) as long as it has that name. What a process that was killed left behind has
// no lock any more, and is removed by whoever writes that file next, on any machine.
class PartFile {
 public:
  // Creates the file next to `final_name`, in a folder that exists. Throws Error.
  explicit PartFile(std::filesystem::path final_name);
  // Removes the file unless it has its final name.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  OutputFile& file() { return file_; }
  const std::filesystem::path& path() const { return file_.path(); }
  // Closes the file and gives it its final name. Throws Error.
  void Keep();

 private:
  std::filesystem::path final_;
  int lock_ = -1;
  OutputFile file_;
  bool kept_ = false;
};

}  // namespace legacy
