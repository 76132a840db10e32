#include "trainer/data/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "trainer/data/cache/cache_file.h"
#include "trainer/data/cache/file_digest.h"
#include "trainer/data/image_decoder.h"
#include "trainer/data/image_listing.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderRules = "image folder 2";
constexpr int64_t kOneIn = 1000;  // one image in this many may be broken
constexpr off_t kMostFileBytes = off_t{1} << 28;

void RequireFolder(const fs::path& folder, const std::string& allowed) {
  if (!fs::is_directory(folder)) throw Error(folder.string(), "no such folder", allowed);
}

// Reads a file into `bytes`. Throws Error.
void ReadImageFile(const fs::path& path, std::vector<uint8_t>& bytes) {
  const auto fail = [&](int error) {
    throw Error(path.string() + ": cannot be read: " + std::generic_category().message(error));
  };
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) fail(errno);
  struct Closer {
    int file;
    ~Closer() { close(file); }
  } const closer{file};
  struct stat status {};
  if (fstat(file, &status) != 0) fail(errno);
  if (!S_ISREG(status.st_mode)) fail(EINVAL);
  if (status.st_size > kMostFileBytes) fail(EFBIG);
  bytes.resize(static_cast<size_t>(status.st_size));
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    at += static_cast<size_t>(got);
  }
  bytes.resize(at);
}

}  // namespace

ImageFolder::ImageFolder(ImageFolderRequest request) : request_(std::move(request)) {
  constexpr int kLeastSize = 8, kMostSize = 1024;
  if (request_.size < kLeastSize || request_.size > kMostSize) {
    throw Error("size of images", std::to_string(request_.size),
                std::to_string(kLeastSize) + " to " + std::to_string(kMostSize));
  }
  const fs::path& folder = request_.folder;
  const std::string layout = "a folder with train/CLASS/*.jpg and val/CLASS/*.jpg (.jpeg, .png)";
  RequireFolder(folder, layout);
  RequireFolder(folder / "train", layout);
  RequireFolder(folder / "val",
                layout + "; accuracy is measured on val/, so move some images of each class there");
  const fs::path cache =
      request_.cache.empty()
          ? fs::path()
          : request_.cache /
                ("images-" +
                 TextDigest(fs::absolute(folder).lexically_normal().string()).substr(0, 16) +
                 ".cache");
  std::optional<ImageListing> listing;
  if (!cache.empty()) {
    if (const auto sections = ReadCacheFile(cache, kFolderRules))
      listing = TakeListing(*sections, folder);
  }
  from_cache_ = listing.has_value();
  if (!listing) {
    listing = ListFolder(folder, layout);
    const std::string key = cache.empty() ? "" : FolderKey(folder, listing->folders);
    try {
      if (!key.empty()) WriteCacheFile(cache, kFolderRules, ListingSections(*listing, key));
    } catch (const Error&) {  // the data root cannot be written
    }
  }
  unread_ = std::move(listing->unread);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "train" || name == "val" || name.front() == '.' || !entry.is_directory()) continue;
    unread_.push_back(name + "/: a folder beside train/ and val/");
  }
  std::ranges::sort(unread_);
  classes_ = std::move(listing->classes);
  for (const bool training : {false, true}) {
    Split& split = training ? train_ : valid_;
    split.names = std::move(listing->names[training]);
    split.first.push_back(0);
    for (const int32_t count : listing->counts[training]) {
      split.labels.insert(split.labels.end(), static_cast<size_t>(count),
                          static_cast<int32_t>(split.first.size()) - 1);
      split.first.push_back(split.first.back() + count);
    }
  }
}

fs::path ImageFolder::file(bool training, int64_t sample) const {
  const Split& split = SplitOf(training);
  const auto at = static_cast<size_t>(sample);
  return request_.folder / SplitName(training) / classes_[static_cast<size_t>(split.labels[at])] /
         split.names[at];
}

void ImageFolder::Decode(const ImageJob& job, std::span<uint8_t> out) const {
  assert(static_cast<int64_t>(out.size()) == image_bytes());
  thread_local std::vector<uint8_t> bytes;
  const Split& split = SplitOf(job.training);
  const auto label = static_cast<size_t>(split.labels[static_cast<size_t>(job.sample)]);
  const int64_t first = split.first[label];
  const int64_t count = split.first[label + 1] - first;
  for (int64_t tried = 0; tried < count; ++tried) {
    const int64_t sample = first + (job.sample - first + tried) % count;
    if (IsBroken(job.training, sample)) continue;
    const fs::path path = file(job.training, sample);
    try {
      ReadImageFile(path, bytes);
      const ImageShape shape = ReadImageShape(bytes, path.string());
      const CropChoice crop =
          job.augment ? DrawCrop(shape, *job.augment) : CentreCrop(shape, request_.size);
      DecodeImage(bytes, path.string(), crop, request_.size, out);
      return;
    } catch (const Error& error) {
      if (request_.strict) throw;
      NoteBroken(job.training, sample, error.what());
    }
  }
  throw Error((request_.folder / SplitName(job.training) / classes_[label]).string(),
              "no image that can be read", "at least one");
}

bool ImageFolder::IsBroken(bool training, int64_t sample) const {
  if (!any_broken_) return false;
  const std::lock_guard lock(mutex_);
  return broken_[training].contains(sample);
}

void ImageFolder::NoteBroken(bool training, int64_t sample, const std::string& reason) const {
  const std::lock_guard lock(mutex_);
  any_broken_ = true;
  broken_[training].insert(sample);
  if (reasons_.insert(reason).second && request_.note) request_.note("left out: " + reason);
  const int64_t allowed = samples(training) / kOneIn;
  if (std::ssize(broken_[training]) > allowed) {
    throw Error((request_.folder / SplitName(training)).string(),
                std::to_string(broken_[training].size()) + " broken images of " +
                    std::to_string(samples(training)) + ", the last one " + reason,
                "at most " + std::to_string(allowed) + ", one in a thousand");
  }
}

void ImageFolder::Check(bool training, int64_t sample) const {
  const fs::path path = file(training, sample);
  std::vector<uint8_t> bytes;
  ReadImageFile(path, bytes);
  CheckImage(bytes, path.string());
}

std::vector<std::string> ImageFolder::Broken() const {
  const std::lock_guard lock(mutex_);
  return {reasons_.begin(), reasons_.end()};
}

ImageFolderRequest FolderRequest(const CatalogEntry& entry, const fs::path& root, bool strict,
                                 std::function<void(const std::string&)> note) {
  if (entry.format != CatalogEntry::Format::kImageFolder) {
    throw Error("data set", entry.name, "a folder of images, such as imagenet");
  }
  CheckIsHere(entry, root);
  return {.folder = DataFiles(entry, root).front(),
          .size = static_cast<int>(entry.Options().Integer("size", 8, 1024)),
          .strict = strict,
          .cache = root / "cache",
          .note = std::move(note)};
}

}  // namespace legacy
