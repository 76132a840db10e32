// A file that grows.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

namespace legacy {

// Text is handed to the system at once, so that a killed process leaves what it wrote. All errors
// are thrown as Error "PATH: cannot be written: " with the system's reason. A file that was created
// and could not take anything is removed.
class OutputFile {
 public:
  enum class Mode {
    kReplace,  // what is there is cut to nothing
    kAppend,   // goes on behind what is there
    kCreate    // fails where there is anything
  };
  explicit OutputFile(std::filesystem::path path, Mode mode = Mode::kReplace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void Write(std::string_view text);
  // Where a disk finds out late that it is full, this says so.
  void Close();
  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void Fail(int error);

  std::filesystem::path path_;
  int file_ = -1;
  bool created_ = false;  // by this, and nothing is in it yet
};

}  // namespace legacy
