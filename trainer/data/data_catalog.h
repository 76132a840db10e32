// The data catalogue lists the data sets that are known by name, with their files under the data
// root, official sources, digests and statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/images.h"
#include "trainer/data/task_catalog.h"

namespace legacy {

// A RemoteFile is a file that its publisher offers for download: one of the set's files, or an
// archive that holds them all.
struct RemoteFile {
  std::string url;
  std::string digest;  // "sha256:<hex>" of the file's bytes
  int64_t bytes = 0;   // size of the file, at which a download stops
  bool archive = false;
};

// A CatalogEntry is one data set.
struct CatalogEntry {
  enum class Format : uint8_t { kEmbedded, kIdx, kCifar10, kCifar100 };

  std::string name;
  Format format = Format::kEmbedded;
  std::string folder = {};  // folder under the data root
  // Files in `folder`, as the publisher names them; training files come first.
  std::vector<std::string> files = {};
  std::vector<RemoteFile> sources = {};
  std::string licence = {};  // one line
  int classes = 10;
  std::vector<double> mean = {};  // mean of pixel / 255 over the training images, per channel
  std::vector<double> stddev = {};
  bool augment = false;
  TaskKind task = TaskKind::kClassification;
  std::string target = "85%";  // default target (base/metric.h)
};

// Returns all data sets.
const std::vector<CatalogEntry>& DataCatalog();
// Returns their names, in the catalogue's order.
std::vector<std::string> DatasetNames();

// Returns the data set of that name. Throws Error with the list of names for any other.
const CatalogEntry& FindInCatalog(const std::string& name);

// Returns the data root: `option` (--data-root) if given, else the environment variable
// LEGACY_DATA, else ~/.cache/legacy-data.
std::filesystem::path DataRoot(const std::string& option);

// True where all files of the set are below `root`, plain or compressed. Always true for an
// embedded set.
bool IsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// Throws Error where LoadImages would miss a file. It reads none.
void CheckIsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// Returns the training or the test images, in the file's order. `limit` is as in KeepFirst, except
// that 0 means the default size for the embedded set. CIFAR-10's training set is made of those of
// data_batch_1 to 5 that exist. Throws Error naming the file, the byte offset and what was
// expected; for a missing file, how to get it.
ImageSet LoadImages(const CatalogEntry& entry, const std::filesystem::path& data_root,
                    bool training, int64_t limit);

}  // namespace legacy
