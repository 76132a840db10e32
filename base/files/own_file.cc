#include "base/files/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns what is wrong with an open file; "" if nothing is.
std::string WrongKind(int file) {
  struct stat found;
  if (fstat(file, &found) != 0) return std::generic_category().message(errno);
  if (!S_ISREG(found.st_mode)) return "it is no plain file";
  if (found.st_nlink > 1) return "it has a second name (a hard link), under which it would change";
  return "";
}

void CheckFolder(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::symlink_status(path, none);
  if (!fs::exists(status) || fs::is_directory(status)) return;
  throw Error(path.string() + ": it is " + (fs::is_symlink(status) ? "a link" : "a file") +
              " where the folder of a run would be");
}

}  // namespace

int OpenOwnFile(const fs::path& path, int flags, std::string& reason) {
  const int file = open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) {
    const int error = errno;
    std::error_code none;
    const fs::file_status status = fs::symlink_status(path, none);
    reason = fs::is_symlink(status) ? "it is a link"
             : fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)
                 ? "it is no plain file"
                 : std::generic_category().message(error);
    return -1;
  }
  reason = WrongKind(file);
  if (reason.empty()) return file;
  close(file);
  return -1;
}

void CheckFoldersIn(const fs::path& folder, const fs::path& below) {
  fs::path path = folder;
  for (const fs::path& part : below.parent_path()) CheckFolder(path /= part);
}

void MakeFolderIn(const fs::path& folder, const fs::path& below) {
  CheckFoldersIn(folder, below / "file");
  std::error_code error;
  fs::create_directories(folder / below, error);
  if (!error) return;
  throw Error((folder / below).string() + ": the folder cannot be made: " + error.message());
}

}  // namespace legacy
