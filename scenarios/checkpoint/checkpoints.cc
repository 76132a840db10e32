#include "scenarios/checkpoint/checkpoints.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <thread>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "base/files/own_file.h"
#include "base/files/whole_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFilePrefix = "checkpoint-";
constexpr const char* kFilesSection = "files";
constexpr const char* kFormatSection = "format";

// A GrowingFile is a file of the run, with its length at the checkpoint.
struct GrowingFile {
  std::string name;  // path below the run directory
  uint64_t bytes = 0;
};

template <class Archive>
void Fields(Archive& archive, GrowingFile& file) {
  archive(file.name, file.bytes);
}

std::vector<GrowingFile> FilesOf(const SectionFile& checkpoint) {
  std::vector<GrowingFile> files;
  StateReader in(checkpoint.Get(kFilesSection));
  FromArchive(in, files);
  in.ExpectEnd();
  return files;
}

// An OwnFile is an open file of the run.
class OwnFile {
 public:
  // Throws Error unless the file belongs to the run alone.
  OwnFile(const fs::path& directory, const std::string& name) : path_(directory / name) {
    CheckFoldersIn(directory, name);
    std::string reason;
    file_ = OpenOwnFile(path_, O_WRONLY, reason);
    if (file_ < 0) throw Error(path_.string() + ": cannot be cut back: " + reason);
  }
  OwnFile(OwnFile&& other) noexcept : path_(other.path_), file_(std::exchange(other.file_, -1)) {}
  OwnFile& operator=(OwnFile&&) = delete;
  ~OwnFile() {
    if (file_ >= 0) close(file_);
  }

  void Cut(uint64_t bytes) const {
    if (ftruncate(file_, static_cast<off_t>(bytes)) == 0) return;
    throw Error(path_.string() + ": cannot be cut back: " + std::generic_category().message(errno));
  }

 private:
  fs::path path_;
  int file_ = -1;
};

// Throws Error unless the checkpoint has the format that this program reads. Checkpoints of
// versions that knew no formats state none.
void CheckFormat(const SectionFile& checkpoint) {
  uint64_t format = 1;
  if (checkpoint.Has(kFormatSection)) {
    StateReader in(checkpoint.Get(kFormatSection));
    format = in.Number();
    in.ExpectEnd();
  }
  if (format == kCheckpointFormat) return;
  throw Error(checkpoint.path().string() + ": checkpoint of another version of this program",
              "format " + std::to_string(format),
              "format " + std::to_string(kCheckpointFormat) +
                  "; resume the run with the version that wrote it, or begin again in another "
                  "folder");
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder)
    : file_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (file_ < 0) return;
  constexpr int kTries = 40;
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (int i = 0; flock(file_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return;  // some network file systems cannot lock folders
    if (i < kTries) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    close(file_);
    throw Error("--out", folder.string(), "a folder in which no other process is running");
  }
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

Checkpoints::Checkpoints(fs::path directory, const Options& options, std::FILE* log)
    : directory_(std::move(directory)), options_(options), log_(log) {
  if (options_.requests != nullptr) served_ = *options_.requests;
  last_ = std::chrono::steady_clock::now();
}

bool Checkpoints::Due() const {
  if (!On()) return false;
  if (options_.requests != nullptr && *options_.requests != served_) return true;
  return std::chrono::steady_clock::now() - last_ >= *options_.period;
}

unsigned Checkpoints::Patience() const {
  constexpr double kShare = 0.1, kMost = 10;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - last_;
  return static_cast<unsigned>(std::clamp(kShare * since.count(), 1.0, kMost));
}

bool Checkpoints::Write(const std::vector<fs::path>& files,
                        const std::function<void(SectionWriter&)>& write) {
  // A request that comes while this checkpoint is being written is for the next one.
  if (options_.requests != nullptr) served_ = *options_.requests;
  bool written = false;
  try {
    std::vector<GrowingFile> lengths;
    for (const fs::path& file : files) {
      WriteToDisk(file);
      lengths.push_back({file.lexically_relative(directory_).string(), fs::file_size(file)});
    }
    MakeFolderIn(directory_, kCheckpointFolder);
    const std::vector<int64_t> before = Numbers();
    SectionWriter out(PathOf(before.empty() ? 1 : before.back() + 1));
    out.Begin(kFilesSection);
    StateWriter state;
    ToArchive(state, lengths);
    out.Write(state.Take());
    out.Begin(kFormatSection);
    StateWriter format;
    format.Number(kCheckpointFormat);
    out.Write(format.Take());
    write(out);
    out.Finish();
    written = true;
    // The previous checkpoint is kept, in case the new one is damaged later.
    for (size_t i = 0; i + 1 < before.size(); ++i) fs::remove(PathOf(before[i]));
  } catch (const std::exception& error) {
    std::fprintf(log_, "warning: %s%s\n", error.what(),
                 written ? "" : "; the run continues without this checkpoint");
  }
  last_ = std::chrono::steady_clock::now();
  return written;
}

std::unique_ptr<SectionFile> Checkpoints::Newest() {
  std::vector<int64_t> numbers = Numbers();
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    std::unique_ptr<SectionFile> checkpoint;
    try {
      checkpoint = std::make_unique<SectionFile>(PathOf(*number));
      CheckFiles(*checkpoint);
    } catch (const Error& error) {
      std::fprintf(log_, "warning: %s; %s\n", error.what(),
                   number + 1 == numbers.rend() ? "there is no other checkpoint"
                                                : "the checkpoint before it is used");
      continue;
    }
    CheckFormat(*checkpoint);
    return checkpoint;
  }
  return nullptr;
}

// Throws Error if a file is shorter than it was at the checkpoint.
void Checkpoints::CheckFiles(const SectionFile& checkpoint) const {
  for (const GrowingFile& file : FilesOf(checkpoint)) {
    std::error_code missing;
    const uintmax_t bytes = fs::file_size(directory_ / file.name, missing);
    if (missing || bytes < file.bytes) {
      throw Error(checkpoint.path().string() + ": needs " + std::to_string(file.bytes) +
                  " bytes of " + file.name + ", which has " +
                  (missing ? "none" : std::to_string(bytes)));
    }
  }
}

void Checkpoints::CutBack(const SectionFile& checkpoint, std::span<const fs::path> known) const {
  const std::vector<GrowingFile> files = FilesOf(checkpoint);
  std::vector<OwnFile> open;
  for (const GrowingFile& file : files) {
    const fs::path path = directory_ / file.name;
    if (std::ranges::none_of(known, [&](const fs::path& own) { return own == path; })) {
      throw Error(checkpoint.path().string() +
                  ": names a file that is none of the run's: " + file.name);
    }
    open.emplace_back(directory_, file.name);
  }
  for (size_t i = 0; i < files.size(); ++i) open[i].Cut(files[i].bytes);
}

void Checkpoints::Remove() const {
  std::error_code error;
  fs::remove_all(directory_ / kCheckpointFolder, error);
  if (error) {
    throw Error((directory_ / kCheckpointFolder).string() +
                ": cannot be removed: " + error.message());
  }
}

std::vector<int64_t> Checkpoints::Numbers() const {
  std::vector<int64_t> numbers;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(Folder(), none)) {
    const std::string name = entry.path().filename();
    const std::string_view prefix = kFilePrefix;
    if (!name.starts_with(prefix)) continue;
    int64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, bad] = std::from_chars(name.data() + prefix.size(), end, number);
    if (bad == std::errc() && stop == end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

fs::path Checkpoints::Folder() const {
  CheckFoldersIn(directory_, fs::path(kCheckpointFolder) / kFilePrefix);
  return directory_ / kCheckpointFolder;
}

fs::path Checkpoints::PathOf(int64_t number) const {
  return Folder() / (kFilePrefix + std::to_string(number));
}

}  // namespace legacy
