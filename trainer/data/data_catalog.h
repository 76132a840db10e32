// The data sets that we know by name: layout under the data root, official sources, digests,
// statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/images.h"

namespace legacy {

// A file that its publisher offers for download: one of the set's files, or an archive that holds
// them all.
struct RemoteFile {
  std::string url;
  std::string digest;  // "sha256:<hex>" of the file's bytes
  int64_t bytes = 0;   // of the file; a download stops there
  bool archive = false;
};

struct CatalogEntry {
  enum class Format : uint8_t { kEmbedded, kIdx, kCifar10, kCifar100 };

  std::string name;
  Format format = Format::kEmbedded;
  std::string folder = {};  // under the data root
  std::vector<std::string> files =
      {};  // in `folder`, as the publisher names them; training files first
  std::vector<RemoteFile> sources = {};
  std::string licence = {};  // one line
  int classes = 10;
  std::vector<double> mean = {};  // per channel, of pixel / 255 over the training images
  std::vector<double> stddev = {};
  bool augment = false;
};

const std::vector<CatalogEntry>& DataCatalog();
std::vector<std::string> DatasetNames();  // of the catalogue, in its order

// Throws Error with the list of names.
const CatalogEntry& FindInCatalog(const std::string& name);

// `option` (--data-root) if given, else the environment variable LEGACY_DATA, else
// ~/.cache/legacy-data.
std::filesystem::path DataRoot(const std::string& option);

// Whether all files of the set are below `root`, plain or compressed; always true of an embedded
// one.
bool IsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// Throws Error where LoadImages would, for a file that is missing; reads nothing.
void CheckIsHere(const CatalogEntry& entry, const std::filesystem::path& root);

// The training or the test images, in the file's order; `limit` as in KeepFirst, but 0 means the
// default size for the embedded set. CIFAR-10's training set is what exists of data_batch_1 to 5.
// Throws Error naming the file, the byte offset and what was expected; for a missing file, how to
// get it.
ImageSet LoadImages(const CatalogEntry& entry, const std::filesystem::path& data_root,
                    bool training, int64_t limit);

}  // namespace legacy
