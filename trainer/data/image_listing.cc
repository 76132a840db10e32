#include "trainer/data/image_listing.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "trainer/data/cache/file_digest.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

std::string SuffixOf(const std::string& name) {
  std::string suffix = fs::path(name).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

// Skipped counts the files that are not read, by their suffix or another reason.
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
  // Returns a text such as "3 .webp, 1 hidden, such as FILE"; "" if there are none.
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

// A Walk lists the images below a folder as torchvision's ImageFolder does, and follows links: the
// folders in the order of their paths, and in each folder the names in their order.
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

// Returns the names, each followed by a NUL.
std::vector<char> PackNames(const std::vector<std::string>& names) {
  std::vector<char> bytes;
  for (const std::string& name : names) {
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.push_back('\0');  // no file name contains a NUL
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
               Skipped& skipped, ImageListing& listing) {
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

}  // namespace

ImageListing ListFolder(const fs::path& folder, const std::string& layout) {
  ImageListing listing;
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

std::vector<Section> ListingSections(const ImageListing& listing, const std::string& key) {
  return {Section::Of(std::vector<char>(key.begin(), key.end())),
          Section::Of(PackNames(listing.classes)),
          Section::Of(PackNames(listing.names[0])),
          Section::Of(PackNames(listing.names[1])),
          Section::Of(listing.counts[0]),
          Section::Of(listing.counts[1]),
          Section::Of(PackNames(listing.folders)),
          Section::Of(PackNames(listing.unread))};
}

std::optional<ImageListing> TakeListing(std::span<const Section> sections, const fs::path& folder) {
  if (sections.size() != 8) return std::nullopt;
  ImageListing listing;
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

}  // namespace legacy
