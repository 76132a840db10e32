#include "trainer/data/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <map>
#include <system_error>

#include "base/error.h"
#include "trainer/data/cache/cache_file.h"
#include "trainer/data/cache/file_digest.h"
#include "trainer/data/image_decoder.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderRules = "image folder 2";
constexpr int64_t kOneIn = 1000;  // images that may be broken
constexpr off_t kMostFileBytes = off_t{1} << 28;

const char* SplitName(bool training) { return training ? "train" : "val"; }

std::string SuffixOf(const std::string& name) {
  std::string suffix = fs::path(name).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

// A Skipped is files that are not read, by what they are called.
struct Skipped {
  std::map<std::string, int64_t> counts;
  std::string example;

  void Add(const std::string& kind, const fs::path& file) {
    ++counts[kind];
    if (example.empty()) example = file.string();
  }
  void AddFile(const fs::path& file) {
    const std::string name = file.filename().string();
    const std::string suffix = SuffixOf(name);
    Add(name.front() == '.' ? "hidden" : suffix.empty() ? "without a suffix" : suffix, file);
  }
  // Returns "3 of .webp, 1 hidden, such as FILE", "" for none.
  std::string Text() const {
    std::string text;
    for (const auto& [kind, count] : counts) {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    }
    return text.empty() ? text : text + ", such as " + example;
  }
};

// Returns the sub-folders of a folder, sorted.
std::vector<std::string> Subfolders(const fs::path& folder, Skipped& skipped) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory()) {
      skipped.AddFile(entry.path());
    } else if (name.front() == '.') {
      skipped.Add("hidden", entry.path());
    } else {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

// A Walk lists the images below a folder, links followed, as torchvision's ImageFolder does: folder
// by folder in the order of their paths, and the names in each in theirs.
class Walk {
 public:
  Walk(const fs::path& folder, Skipped& skipped) : skipped_(skipped) { Enter(folder, ""); }

  // Returns the paths below the folder.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [folder, files] : files_) {
      for (const std::string& file : files) {
        names.push_back(folder.empty() ? file : folder + "/" + file);
      }
    }
    return names;
  }
  // Returns the folders that were listed, "" first.
  std::vector<std::string> Folders() const {
    std::vector<std::string> names;
    for (const auto& [folder, files] : files_) names.push_back(folder);
    return names;
  }

 private:
  void Enter(const fs::path& folder, const std::string& relative) {
    const fs::path real = fs::canonical(folder);
    if (std::ranges::count(above_, real) > 0) {
      throw Error(folder.string(), "a link to a folder above it", "folders that end");
    }
    above_.push_back(real);
    std::set<std::string>& files = files_[relative];
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory()) {
        if (name.front() == '.') {
          skipped_.Add("hidden", entry.path());
        } else {
          Enter(entry.path(), relative.empty() ? name : relative + "/" + name);
        }
        continue;
      }
      const std::string suffix = SuffixOf(name);
      const bool image = suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
      if (name.front() != '.' && image) {
        files.insert(name);
      } else {
        skipped_.AddFile(entry.path());
      }
    }
    above_.pop_back();
  }

  std::map<std::string, std::set<std::string>> files_;  // by folder
  std::vector<fs::path> above_;
  Skipped& skipped_;
};

void RequireFolder(const fs::path& folder, const std::string& allowed) {
  if (!fs::is_directory(folder)) throw Error(folder.string(), "no such folder", allowed);
}

// A Listing is what a cache holds: the files of both splits.
struct Listing {
  std::vector<std::string> folders;  // all that were listed, below the set's folder
  std::vector<std::string> unread;   // what Unread() returns
  std::vector<std::string> classes;
  std::array<std::vector<std::string>, 2> names;  // of val, of train
  std::array<std::vector<int32_t>, 2> counts;     // of each class
};

// Appends names, each behind its length.
std::vector<char> PackNames(const std::vector<std::string>& names) {
  std::vector<char> bytes;
  for (const std::string& name : names) {
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.push_back('\0');  // no file name has one
  }
  return bytes;
}

std::vector<std::string> UnpackNames(const Section& section) {
  std::vector<std::string> names;
  const auto bytes = section.As<char>().value();
  for (auto at = bytes.begin(); at != bytes.end();) {
    const auto end = std::find(at, bytes.end(), '\0');
    names.emplace_back(at, end);
    at = end == bytes.end() ? end : end + 1;
  }
  return names;
}

// Lists the classes, and the files of a split.
void ListSplit(const fs::path& folder, bool training, const std::vector<std::string>& present,
               Skipped& skipped, Listing& listing) {
  const std::string split = SplitName(training);
  listing.folders.push_back(split);
  for (const std::string& name : listing.classes) {
    int32_t count = 0;
    if (std::ranges::binary_search(present, name)) {
      Skipped of_class;
      const fs::path own = folder / split / name;
      const Walk walk(own, of_class);
      std::vector<std::string> files = walk.Names();
      if (files.empty()) {
        const std::string others = of_class.Text();
        throw Error(own.string(),
                    "a class without images" + (others.empty() ? "" : " (" + others + ")"),
                    ".jpg, .jpeg or .png files");
      }
      for (const auto& [kind, number] : of_class.counts) skipped.counts[kind] += number;
      if (skipped.example.empty()) skipped.example = of_class.example;
      for (const std::string& below : walk.Folders()) {
        listing.folders.push_back(split + "/" + name + (below.empty() ? "" : "/" + below));
      }
      count = static_cast<int32_t>(files.size());
      std::ranges::move(files, std::back_inserter(listing.names[training]));
    }
    listing.counts[training].push_back(count);
  }
  const std::string text = skipped.Text();
  if (!text.empty())
    listing.unread.push_back(split + "/: files that are no .jpg, .jpeg or .png: " + text);
}

// Lists the folder's classes and its files.
Listing ListFolder(const fs::path& folder, const std::string& layout) {
  Listing listing;
  Skipped beside_train, beside_valid;
  listing.classes = Subfolders(folder / "train", beside_train);
  const std::vector<std::string> train = listing.classes;
  const std::vector<std::string> valid = Subfolders(folder / "val", beside_valid);
  if (train.empty()) throw Error((folder / "train").string(), "no classes", layout);
  if (valid.empty()) throw Error((folder / "val").string(), "no classes", layout);
  for (const std::string& name : valid) {
    if (!std::ranges::binary_search(train, name)) {
      throw Error((folder / "val").string(), "class " + name,
                  "the classes of train/, of which there are " + std::to_string(train.size()));
    }
  }
  ListSplit(folder, true, train, beside_train, listing);
  ListSplit(folder, false, valid, beside_valid, listing);
  return listing;
}

// Returns a text that changes with every file that comes to one of the folders or goes, as the
// times of folders do; "" where one is too young to tell, or not there.
std::string FolderKey(const fs::path& folder, const std::vector<std::string>& listed) {
  std::string key;
  std::error_code error;
  for (const std::string& name : listed) {
    if (!fs::is_directory(folder / name, error)) return "";
    const FileStamp stamp = ShortStamp(folder / name);
    if (stamp.changed == FileStamp::kYoung) return "";
    key += name + " " + std::to_string(stamp.changed) + "\n";
  }
  return key;
}

std::vector<Section> ListingSections(const Listing& listing, const std::string& key) {
  return {Section::Of(std::vector<char>(key.begin(), key.end())),
          Section::Of(PackNames(listing.classes)),
          Section::Of(PackNames(listing.names[0])),
          Section::Of(PackNames(listing.names[1])),
          Section::Of(listing.counts[0]),
          Section::Of(listing.counts[1]),
          Section::Of(PackNames(listing.folders)),
          Section::Of(PackNames(listing.unread))};
}

// Returns the listing of a cache, or nothing where a folder that it listed has changed since.
std::optional<Listing> TakeListing(std::span<const Section> sections, const fs::path& folder) {
  if (sections.size() != 8) return std::nullopt;
  Listing listing;
  listing.folders = UnpackNames(sections[6]);
  listing.unread = UnpackNames(sections[7]);
  const std::string key = FolderKey(folder, listing.folders);
  const auto kept = sections[0].As<char>().value();
  if (key.empty() || std::string_view(kept.data(), kept.size()) != key) return std::nullopt;
  listing.classes = UnpackNames(sections[1]);
  for (const size_t split : {0u, 1u}) {
    listing.names[split] = UnpackNames(sections[2 + split]);
    const auto counts = sections[4 + split].As<int32_t>();
    if (!counts || counts->size() != listing.classes.size()) return std::nullopt;
    listing.counts[split].assign(counts->begin(), counts->end());
    int64_t sum = 0;
    for (const int32_t count : *counts) {
      if (count < 0) return std::nullopt;
      sum += count;
    }
    if (sum != std::ssize(listing.names[split])) return std::nullopt;
  }
  return listing;
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
  std::optional<Listing> listing;
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
    } catch (const Error&) {  // a data root that cannot be written
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
