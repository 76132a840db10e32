#include "base/files/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;
constexpr std::string_view kEnding = ".tmp";

// Locks an open file. Returns false if another process holds it, or took its name away, and
// `unlockable` on a file system without locks.
bool Lock(int file, bool unlockable) {
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno != EWOULDBLOCK && unlockable;
  }
  struct stat found;
  return fstat(file, &found) == 0 && found.st_nlink > 0;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether a name is a temporary one of the file `whole`.
bool IsPartOf(std::string_view name, const std::string& whole) {
  if (!name.starts_with(whole + '.') || !name.ends_with(kEnding)) return false;
  name.remove_prefix(whole.size() + 1);
  if (name.size() < kEnding.size()) return false;
  name.remove_suffix(kEnding.size());
  const size_t dash = name.find('-');
  return dash != std::string_view::npos && IsNumber(name.substr(0, dash)) &&
         IsNumber(name.substr(dash + 1));
}

// Removes the part files of `whole` that no process writes any more.
void RemoveAbandoned(const fs::path& whole) {
  std::error_code ignored;
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!IsPartOf(entry.path().filename().string(), whole.filename().string())) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (Lock(file, false)) unlink(entry.path().c_str());
    close(file);
  }
}

// Creates a locked file next to `whole`.
OutputFile CreateBeside(const fs::path& whole, int& lock) {
  static std::atomic<int64_t> next = 0;
  RemoveAbandoned(whole);
  for (int tries = 0;; ++tries) {
    fs::path name = whole;
    name += '.' + std::to_string(getpid()) + '-' + std::to_string(next++) + std::string(kEnding);
    struct stat found;
    if (tries < kMostTries && lstat(name.c_str(), &found) == 0) continue;
    OutputFile file(name, OutputFile::Mode::kCreate);
    lock = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
    // Between its creation and its lock, a file looks abandoned.
    if (lock < 0 || Lock(lock, true)) return file;
    close(lock);
  }
}

}  // namespace

PartFile::PartFile(fs::path final_name)
    : final_(std::move(final_name)), file_(CreateBeside(final_, lock_)) {}

PartFile::~PartFile() {
  std::error_code ignored;
  if (!kept_) fs::remove(path(), ignored);
  if (lock_ >= 0) close(lock_);
}

void PartFile::Keep() {
  file_.Close();
  std::error_code error;
  fs::rename(path(), final_, error);
  if (error) throw Error(final_.string() + ": cannot be written: " + error.message());
  kept_ = true;
}

}  // namespace legacy
