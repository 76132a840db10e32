#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace legacy {
namespace {

constexpr mode_t kMode = 0666;  // permissions before the user's mask

int Flags(OutputFile::Mode mode) {
  switch (mode) {
    case OutputFile::Mode::kReplace:
      return O_TRUNC;
    case OutputFile::Mode::kAppend:
      return O_APPEND;
    case OutputFile::Mode::kCreate:
      return 0;
  }
  return 0;
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  // The first attempt must create the file, which tells whether this object may remove it. A
  // dangling link is not a file that this object created.
  const int common = O_WRONLY | O_CLOEXEC | O_CREAT;
  file_ = open(path_.c_str(), common | O_EXCL, kMode);
  created_ = file_ >= 0;
  if (!created_ && errno == EEXIST && mode != Mode::kCreate) {
    file_ = open(path_.c_str(), common | Flags(mode), kMode);
  }
  if (file_ < 0) Fail(errno);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      created_(std::exchange(other.created_, false)) {}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
}

void OutputFile::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(errno);
    created_ = false;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::Close() {
  const int file = std::exchange(file_, -1);
  if (file >= 0 && close(file) != 0 && errno != EINTR) Fail(errno);
}

void OutputFile::Fail(int error) {
  if (std::exchange(created_, false)) unlink(path_.c_str());
  throw Error(path_.string() + ": cannot be written: " + std::generic_category().message(error));
}

}  // namespace legacy
