#include "trainer/data/data_catalog.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "trainer/data/glyphs.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Format = CatalogEntry::Format;

const std::vector<std::string> kIdxFiles = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

// Returns one gzipped file for each of kIdxFiles, in their order.
std::vector<RemoteFile> IdxSources(const std::string& place,
                                   const std::vector<std::string>& digests,
                                   const std::vector<int64_t>& bytes) {
  std::vector<RemoteFile> sources;
  for (size_t i = 0; i < kIdxFiles.size(); ++i) {
    sources.push_back({place + kIdxFiles[i] + ".gz", digests[i], bytes[i]});
  }
  return sources;
}

CatalogEntry EmbeddedGlyphs() {
  return {.name = "glyphs",
          .format = Format::kEmbedded,
          .licence = "BSD-3-Clause, drawn by this program",
          .classes = kGlyphClasses,
          .mean = {kGlyphMean},
          .stddev = {kGlyphStddev}};
}

// The MD5 digests of the gzip files are in the README of github.com/zalandoresearch/fashion-mnist.
// The digests here are the SHA-256 of the same files.
CatalogEntry FashionMnist() {
  return {
      .name = "fashion-mnist",
      .format = Format::kIdx,
      .folder = "fashion-mnist",
      .files = kIdxFiles,
      .sources = IdxSources(
          "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
          {"sha256:3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
           "sha256:a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
           "sha256:346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
           "sha256:67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
          {26421880, 29515, 4422102, 5148}),
      .licence = "MIT, (c) 2017 Zalando SE",
      .mean = {0.2860},
      .stddev = {0.3530}};
}

// The SHA-256 digests of MNIST's and CIFAR's files are those of TensorFlow Datasets
// (tensorflow_datasets/url_checksums/ in github.com/tensorflow/datasets). They belong to the files
// whose MD5 the publishers and torchvision print.
CatalogEntry Mnist() {
  return {.name = "mnist",
          .format = Format::kIdx,
          .folder = "mnist",
          .files = kIdxFiles,
          .sources = IdxSources(
              "https://ossci-datasets.s3.amazonaws.com/mnist/",
              {"sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
               "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
               "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
               "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
              {9912422, 28881, 1648877, 4542}),
          .licence = "CC BY-SA 3.0, LeCun, Cortes, Burges",
          .mean = {0.1307},
          .stddev = {0.3081}};
}

CatalogEntry Cifar10() {
  return {.name = "cifar10",
          .format = Format::kCifar10,
          .folder = "cifar-10-batches-bin",
          .files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                    "data_batch_5.bin", "test_batch.bin"},
          .sources = {{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                       "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                       170052171, true}},
          .licence = "none stated; cite Krizhevsky 2009",
          .mean = {0.4914, 0.4822, 0.4465},
          .stddev = {0.2470, 0.2435, 0.2616},
          .augment = true};
}

CatalogEntry Cifar100() {
  return {.name = "cifar100",
          .format = Format::kCifar100,
          .folder = "cifar-100-binary",
          .files = {"train.bin", "test.bin"},
          .sources = {{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                       "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                       168513733, true}},
          .licence = "none stated; cite Krizhevsky 2009",
          .classes = 100,
          .mean = {0.5071, 0.4865, 0.4409},
          .stddev = {0.2673, 0.2564, 0.2762},
          .augment = true};
}

[[noreturn]] void ThrowMissing(const CatalogEntry& entry, const fs::path& file) {
  throw Error(entry.name, file.string() + " (not there)",
              "run 'legacy-data fetch " + entry.name + "', or name the folder that holds " +
                  entry.folder + "/ with --data-root or LEGACY_DATA");
}

// Returns `folder`/`name`, or else its gzipped form.
fs::path PlainOrGzip(const CatalogEntry& entry, const fs::path& folder, const std::string& name) {
  for (const auto& file : {folder / name, folder / (name + ".gz")}) {
    if (fs::exists(file)) return file;
  }
  ThrowMissing(entry, folder / (name + ".gz"));
}

ImageSet LoadIdx(const CatalogEntry& entry, const fs::path& folder, bool training) {
  const size_t first = training ? 0 : 2;
  const fs::path images = PlainOrGzip(entry, folder, entry.files[first]);
  return ReadIdx(images, PlainOrGzip(entry, folder, entry.files[first + 1]), entry.classes);
}

// Returns the files that exist, at least one.
std::vector<fs::path> CifarFiles(const CatalogEntry& entry, const fs::path& folder, bool training) {
  std::vector<fs::path> found;
  const size_t test = entry.files.size() - 1;
  for (size_t i = training ? 0 : test; i < (training ? test : test + 1); ++i) {
    if (fs::exists(folder / entry.files[i])) found.push_back(folder / entry.files[i]);
  }
  if (found.empty()) ThrowMissing(entry, folder / entry.files[training ? 0 : test]);
  return found;
}

ImageSet LoadCifar(const CatalogEntry& entry, const fs::path& folder, bool training) {
  const std::vector<fs::path> found = CifarFiles(entry, folder, training);
  return ReadCifar(found, entry.format == Format::kCifar100 ? 2 : 1, entry.classes);
}

}  // namespace

const std::vector<CatalogEntry>& DataCatalog() {
  static const std::vector<CatalogEntry> catalog = {EmbeddedGlyphs(), FashionMnist(), Mnist(),
                                                    Cifar10(), Cifar100()};
  return catalog;
}

std::vector<std::string> DatasetNames() {
  std::vector<std::string> names;
  for (const auto& entry : DataCatalog()) names.push_back(entry.name);
  return names;
}

const CatalogEntry& FindInCatalog(const std::string& name) {
  std::string names;
  for (const auto& entry : DataCatalog()) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  throw Error("data set", name, names);
}

bool IsHere(const CatalogEntry& entry, const fs::path& root) {
  return std::ranges::all_of(entry.files, [&](const std::string& name) {
    const fs::path file = root / entry.folder / name;
    return fs::exists(file) || fs::exists(file.string() + ".gz");
  });
}

void CheckIsHere(const CatalogEntry& entry, const fs::path& root) {
  const fs::path folder = root / entry.folder;
  if (entry.files.empty()) return;  // embedded
  if (entry.format == Format::kIdx) {
    for (const std::string& file : entry.files) PlainOrGzip(entry, folder, file);
    return;
  }
  for (const bool training : {true, false}) CifarFiles(entry, folder, training);
}

fs::path DataRoot(const std::string& option) {
  if (!option.empty()) return option;
  if (const char* root = std::getenv("LEGACY_DATA"); root != nullptr && *root != '\0') return root;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : ".") / ".cache" / "legacy-data";
}

ImageSet LoadImages(const CatalogEntry& entry, const fs::path& data_root, bool training,
                    int64_t limit) {
  if (limit < 0) throw Error("sample limit", std::to_string(limit), "0 (all) or more");
  if (entry.format == Format::kEmbedded) {
    const int64_t size = training ? kGlyphTrainSamples : kGlyphTestSamples;
    return DrawGlyphs(training, limit > 0 ? limit : size);
  }
  const fs::path folder = data_root / entry.folder;
  ImageSet images = entry.format == Format::kIdx ? LoadIdx(entry, folder, training)
                                                 : LoadCifar(entry, folder, training);
  KeepFirst(images, limit);
  return images;
}

}  // namespace legacy
