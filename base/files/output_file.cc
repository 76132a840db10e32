#include "base/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/files/own_file.h"

namespace legacy {
namespace {

constexpr mode_t kMode = 0666;  // permissions before the user's mask

std::string ReasonOf(int error) { return std::generic_category().message(error); }

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  // The first attempt must create the file, which tells whether this object may remove it. A
  // dangling link is not a file that this object created.
  const int append = mode == Mode::kAppend ? O_APPEND : 0;
  if (mode != Mode::kAsItIs) {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | append, kMode);
  } else {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  }
  created_ = file_ >= 0 && mode != Mode::kAsItIs;
  if (file_ >= 0) return;
  if (errno != EEXIST || mode == Mode::kCreate) Fail(ReasonOf(errno));
  std::string reason;
  file_ = OpenOwnFile(path_, O_WRONLY | append, reason);
  if (file_ < 0) Fail(reason);
  if (mode == Mode::kReplace && ftruncate(file_, 0) != 0) Fail(ReasonOf(errno));
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
    if (written < 0) Fail(ReasonOf(errno));
    created_ = false;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::Close() {
  const int file = std::exchange(file_, -1);
  if (file >= 0 && close(file) != 0 && errno != EINTR) Fail(ReasonOf(errno));
}

void OutputFile::Fail(const std::string& reason) {
  if (std::exchange(created_, false)) unlink(path_.c_str());
  throw Error(path_.string() + ": cannot be written: " + reason);
}

}  // namespace legacy
