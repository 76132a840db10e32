// A folder of images has DIR/train/CLASS/.../FILE and DIR/val/CLASS/.../FILE. Its images are
// decoded when they are asked for, as ImageNet's are: cropped and flipped at random in training,
// resized and cropped at the centre in evaluation.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

// An ImageFolderRequest says which folder, and how its images are read.
struct ImageFolderRequest {
  std::filesystem::path folder;
  int size = 224;  // side of the decoded images in pixels
  // True: the first broken image ends the training. False: up to one in a thousand images of a
  // split are left out, and named by Broken().
  bool strict = false;
  // Folder for the list of the files; "": none.
  std::filesystem::path cache;
  // Is told of each broken image that is left out, by any thread.
  std::function<void(const std::string&)> note = {};
};

// An ImageJob is one image to decode.
struct ImageJob {
  bool training = false;
  int64_t sample = 0;
  // Key of the crop and of the flip. Without it the image is resized and cropped at the centre,
  // also a training image.
  std::optional<RandomKey> augment = {};
};

// An ImageFolder is both splits of a folder. All its functions may be called by any number of
// threads, and pixels do not depend on how many there are.
class ImageFolder {
 public:
  // Lists the files: .jpg, .jpeg, .png in any case, in a class's folder and in those below it, in
  // the order of torchvision's ImageFolder. Classes are the sub-folders of train/, in the
  // order of their names (bytes); val/ may lack some of them, but has no others. Throws Error on a
  // missing folder, a class without images, and a class of val/ that train/ lacks.
  explicit ImageFolder(ImageFolderRequest request);

  const std::filesystem::path& folder() const { return request_.folder; }
  int size() const { return request_.size; }
  // Bytes of a decoded image: 3 x size x size.
  int64_t image_bytes() const { return int64_t{3} * size() * size(); }
  std::span<const std::string> classes() const { return classes_; }
  int64_t samples(bool training) const {
    return static_cast<int64_t>(SplitOf(training).labels.size());
  }
  int32_t label(bool training, int64_t sample) const {
    return SplitOf(training).labels[static_cast<size_t>(sample)];
  }
  std::filesystem::path file(bool training, int64_t sample) const;
  bool from_cache() const { return from_cache_; }
  // Returns what of the folder is not read, a line each: how many files of which suffixes, folders
  // besides train/ and val/.
  const std::vector<std::string>& Unread() const { return unread_; }

  // Writes an image into `out`, 3 x size x size, red, green and blue planes. Another image of the
  // same class takes the place of a broken one: the next that can be read. Throws Error naming the
  // file with `strict`, where too many images are broken, and where a class has no other.
  void Decode(const ImageJob& job, std::span<uint8_t> out) const;

  // Reads all of an image, also what a crop leaves out. Throws Error naming the file.
  void Check(bool training, int64_t sample) const;

  // Returns "FILE: what is wrong" for every broken image met so far, sorted.
  std::vector<std::string> Broken() const;

 private:
  struct Split {
    std::vector<int32_t> labels;     // ascending, so that a class is a stretch
    std::vector<std::string> names;  // paths below the class's folder
    std::vector<int64_t> first;      // first sample of each class, and the number of samples
  };
  const Split& SplitOf(bool training) const { return training ? train_ : valid_; }
  bool IsBroken(bool training, int64_t sample) const;
  void NoteBroken(bool training, int64_t sample, const std::string& reason) const;

  ImageFolderRequest request_;
  std::vector<std::string> classes_;
  Split train_;
  Split valid_;
  bool from_cache_ = false;
  std::vector<std::string> unread_;
  mutable std::atomic<bool> any_broken_ = false;
  mutable std::mutex mutex_;
  mutable std::set<int64_t> broken_[2];  // samples of val, of train
  mutable std::set<std::string> reasons_;
};

// Returns the request of a data set of the format kImageFolder.
ImageFolderRequest FolderRequest(const CatalogEntry& entry, const std::filesystem::path& root,
                                 bool strict, std::function<void(const std::string&)> note = {});

}  // namespace legacy
