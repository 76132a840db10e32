// An output file grows while it is written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace legacy {

// An OutputFile hands text to the system at once, so that a killed process leaves what it wrote.
// All errors are thrown as Error "PATH: cannot be written: " with the reason. A file that was
// created and could not take anything is removed. Links, devices and files with a second name are
// refused (base/files/own_file.h), unless the mode is kAsItIs.
class OutputFile {
 public:
  enum class Mode {
    kReplace,  // an existing file is cut to nothing
    kAppend,   // text is appended to an existing file
    kCreate,   // an existing file is an error
    kAsItIs    // a device or FIFO of the user's takes the text
  };
  explicit OutputFile(std::filesystem::path path, Mode mode = Mode::kReplace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Appends text.
  void Write(std::string_view text);
  // Closes the file. Where a disk finds out late that it is full, this throws.
  void Close();
  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return file_; }  // -1: closed

 private:
  [[noreturn]] void Fail(const std::string& reason);

  std::filesystem::path path_;
  int file_ = -1;
  bool created_ = false;  // true where this object created the file, which is still empty
};

}  // namespace legacy
