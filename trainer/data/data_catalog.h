// The data catalogue lists the data sets that are known by name, with their files under the data
// root, official sources, digests and statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compress/options.h"
#include "trainer/data/images.h"
#include "trainer/data/task_catalog.h"

namespace legacy {

// A RemoteFile is a file that its publisher offers for download: one of the set's files, or an
// archive that holds them all.
struct RemoteFile {
  std::string url;
  std::string digest;  // "sha256:<hex>" or "md5:<hex>" of the file's bytes
  int64_t bytes = 0;   // size of the file, or a bound above it, at which a download stops
  bool archive = false;
};

// An Augmentation says how images in memory are moved while training.
enum class Augmentation : uint8_t {
  kNone,
  kCrop,         // shifted by up to 4 pixels over black, and mirrored
  kReflectCrop,  // the same over the image's own reflection
};

// A CatalogEntry is one data set. What a training reads of it depends on the format:
// LoadImages() (kEmbedded, kIdx, kCifar10, kCifar100), image_folder.h (kImageFolder), corpus.h
// (kWordFiles, kText, kGrammar), ratings.h (kRatings, kTastes).
struct CatalogEntry {
  enum class Format : uint8_t {
    kEmbedded,
    kIdx,
    kCifar10,
    kCifar100,
    kImageFolder,  // a folder of classes
    kWordFiles,    // three files of words: training, validation, test
    kText,         // the files that the options name
    kGrammar,      // drawn words
    kRatings,      // a file of ratings
    kTastes        // drawn ratings
  };

  std::string name;
  Format format = Format::kEmbedded;
  std::string help = {};    // one line: what it is
  std::string folder = {};  // folder under the data root
  // Files in `folder`, as the publisher names them; training files come first.
  std::vector<std::string> files = {};
  std::vector<RemoteFile> sources = {};
  std::string licence = {};       // one line
  std::string instead = {};       // how to get it, where there is nothing to download
  int classes = 10;               // 0: no classes, or those of the folder
  std::vector<double> mean = {};  // mean of pixel / 255 over the training images, per channel
  std::vector<double> stddev = {};
  Augmentation augment = Augmentation::kNone;  // of sets that are held in memory
  TaskKind task = TaskKind::kClassification;
  std::string target = "85%";  // default target (base/metric.h), chosen by hand
  std::vector<OptionSpec> options = {};
  // The text that was asked for: the name and the given options.
  Stage given = {};

  // Reads the options. They outlive neither this entry nor a change of it.
  OptionReader Options() const { return {given, options}; }
};

// Returns all data sets, at their default options.
const std::vector<CatalogEntry>& DataCatalog();
// Returns their names, in the catalogue's order.
std::vector<std::string> DatasetNames();
// Returns the catalogue as text, a paragraph for each data set with its options.
std::string DatasetList();

// Reads the text of a data set: a name, or a name with options, as in "text:file=a.txt,unit=bytes".
// A path in it may hold anything but a comma. Returns the data set as these options make it, so
// that task, target and classes are final. Throws Error naming `key` for an unknown name, with the
// list of names, and on unknown or wrong options. It reads no file.
CatalogEntry FindInCatalog(const std::string& text, const std::string& key = "data set");

// Returns the data root: `option` (--data-root) if given, else the environment variable
// LEGACY_DATA, else ~/.cache/legacy-data.
std::filesystem::path DataRoot(const std::string& option);

// Returns the files of the set, or for a folder of images its folder, as they lie below `root` or
// where the options say, in the catalogue's order. A file of the catalogue that lies there gzipped
// is named so. Empty for embedded sets.
std::vector<std::filesystem::path> DataFiles(const CatalogEntry& entry,
                                             const std::filesystem::path& root);

// True where all files of the set are there, plain or compressed. Always true for an embedded set.
bool IsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// Throws Error where reading the set would miss a file, and says how to get it. It reads none.
void CheckIsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// Returns the training or the test images of a set that is held in memory, in the file's order.
// `limit` is as in KeepFirst, except that 0 means the default size for the embedded set. CIFAR-10's
// training set is made of those of data_batch_1 to 5 that exist. Throws Error naming the file, the
// byte offset and what was expected; for a missing file, how to get it.
ImageSet LoadImages(const CatalogEntry& entry, const std::filesystem::path& data_root,
                    bool training, int64_t limit);

// True where LoadImages() reads the set.
bool IsHeldInMemory(const CatalogEntry& entry);

}  // namespace legacy
