#include "base/files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/files/output_file.h"
#include "base/files/part_file.h"
#include "base/files/plain_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the limit of Linux

[[noreturn]] void FailToRead(const fs::path& path, const std::string& reason) {
  throw Error::Refusal(path.string() + ": cannot be read: " + reason);
}

[[noreturn]] void FailToRead(const fs::path& path, int error) {
  FailToRead(path, std::generic_category().message(error));
}

// Opens a file to read.
int OpenWithoutWaiting(const fs::path& path) {
  const bool stream = IsOwnStream(path.string());
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | (stream ? 0 : O_NONBLOCK));
  if (file < 0) FailToRead(path, errno);
  struct stat found;
  const int error = fstat(file, &found) == 0 ? 0 : errno;
  if (error == 0 && (stream || S_ISREG(found.st_mode))) return file;
  close(file);
  if (error != 0) FailToRead(path, error);
  if (S_ISDIR(found.st_mode)) FailToRead(path, EISDIR);
  FailToRead(path, "it is no plain file");
}

}  // namespace

void ReplaceFile(const fs::path& path, std::string_view text) {
  try {
    PartFile part(path);
    part.file().Write(text);
    part.Keep();
  } catch (const Error& error) {  // it names the part file
    const std::string what = error.what();
    throw Error(path.string() + what.substr(what.rfind(": cannot be written")));
  }
}

void MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(path.string() + ": the folder cannot be made: " + error.message());
}

std::string ReadWholeFile(const fs::path& path, size_t most_bytes) {
  const int file = OpenWithoutWaiting(path);
  constexpr size_t kChunk = size_t{1} << 16;
  std::string text;
  ssize_t got = 0;
  do {
    const size_t size = text.size();
    text.resize(size + kChunk);
    got = read(file, text.data() + size, kChunk);
    text.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
  } while ((got > 0 && text.size() <= most_bytes) || (got < 0 && errno == EINTR));
  const int error = errno;
  close(file);
  if (got < 0) FailToRead(path, error);
  if (text.size() > most_bytes) {
    throw Error(path.string() + ": larger than " + std::to_string(most_bytes) + " bytes");
  }
  return text;
}

fs::path FollowLinks(const fs::path& path) {
  fs::path name = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(name, error))) return name;
    const fs::path to = fs::read_symlink(name, error);
    if (error) break;
    name = to.is_absolute() ? to : name.parent_path() / to;
  }
  throw Error(path.string() + ": cannot be written: " + std::generic_category().message(ELOOP));
}

bool MayReplace(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  // A path that the user may not inspect is not writable either.
  return !fs::exists(status) || fs::is_regular_file(status);
}

void WriteWholeFile(const fs::path& path, std::string_view text) {
  const fs::path place = FollowLinks(path);
  if (MayReplace(place)) return ReplaceFile(place, text);
  OutputFile file(place, OutputFile::Mode::kAsItIs);
  file.Write(text);
  file.Close();
}

}  // namespace legacy
