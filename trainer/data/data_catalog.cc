#include "trainer/data/data_catalog.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "trainer/data/glyphs.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Format = CatalogEntry::Format;

// Returns the option's path. Throws Error if it is not given.
std::string PathOption(const CatalogEntry& entry, const char* option) {
  const std::string path = entry.Options().Text(option);
  if (path.empty()) {
    throw Error(entry.name + ": " + option, "",
                "a path, as in " + entry.name + ":" + option + "=PATH");
  }
  return path;
}

bool Gives(const CatalogEntry& entry, const char* option) {
  return entry.given.options.count(option) > 0;
}

// A text is file=, or else train=, valid= and test=.
std::vector<std::string> TextFiles(const CatalogEntry& entry) {
  const bool parts = Gives(entry, "train") || Gives(entry, "valid") || Gives(entry, "test");
  if (Gives(entry, "file") == parts) {
    throw Error(entry.name, FormatStages({&entry.given, 1}),
                "text:file=PATH, or text:train=PATH,valid=PATH,test=PATH");
  }
  if (!parts) return {PathOption(entry, "file")};
  return {PathOption(entry, "train"), PathOption(entry, "valid"), PathOption(entry, "test")};
}

void ReadTextOptions(CatalogEntry& entry) {
  const OptionReader options = entry.Options();
  const std::string unit = options.Text("unit");
  const bool words = entry.name == "text" && unit == "words";
  if (!words && unit != "characters" && unit != "bytes") {
    const auto spec = std::ranges::find(entry.options, "unit", &OptionSpec::name);
    throw Error(entry.name + ": unit", unit, spec->allowed);
  }
  if (words) {
    entry.task = TaskKind::kLanguageModelling;
    entry.target = "perplexity=150";
  }
  if (entry.name != "text") return;
  TextFiles(entry);
  if (!Gives(entry, "vocabulary") || options.Text("vocabulary") == "all") return;
  if (!words) {
    throw Error("text: vocabulary", options.Text("vocabulary"), "all, where unit is not words");
  }
  options.Integer("vocabulary", 2, 10'000'000);
}

// Checks all options, as far as that is possible without a file.
void ReadOptions(CatalogEntry& entry) {
  const OptionReader options = entry.Options();
  const auto given = [&](const char* name) {
    return std::ranges::find(entry.options, name, &OptionSpec::name) != entry.options.end();
  };
  if (given("size")) options.Integer("size", 8, 1024);
  if (given("negatives")) options.Integer("negatives", 1, 100'000);
  if (given("folder")) PathOption(entry, "folder");
  switch (entry.format) {
    case Format::kText:
      ReadTextOptions(entry);
      break;
    case Format::kGrammar:
      options.Integer("vocabulary", 2, 1'000'000);
      options.Integer("tokens", 1000, 1'000'000'000);
      break;
    case Format::kTastes: {
      options.Integer("users", 1, 10'000'000);
      const int64_t items = options.Integer("items", 2, 1'000'000);
      options.Integer("per_user", 1, std::min<int64_t>(items - 1, 10'000));
      break;
    }
    case Format::kRatings:
      if (!given("file")) break;
      PathOption(entry, "file");
      options.Number("most", options.Number("least", -1e6, 1e6), 1e6);
      break;
    default:
      break;
  }
}

std::string HowToGet(const CatalogEntry& entry) {
  if (!entry.instead.empty()) return entry.instead;
  if (entry.folder.empty()) return "a path that exists";
  return "run '" + CommandOf("legacy-data") + " fetch " + entry.name +
         "', or name the folder that holds " + entry.folder + "/ with --data-root or LEGACY_DATA";
}

[[noreturn]] void ThrowMissing(const CatalogEntry& entry, const fs::path& file) {
  throw Error(entry.name, file.string() + " (not there)", HowToGet(entry));
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

std::vector<std::string> DatasetNames() {
  std::vector<std::string> names;
  for (const auto& entry : DataCatalog()) names.push_back(entry.name);
  return names;
}

std::string DatasetList() {
  std::string list;
  for (const CatalogEntry& entry : DataCatalog()) {
    list += entry.name + ": " + entry.help + "\n    " + InfoOf(entry.task).name + "; " +
            entry.licence + "\n";
    for (const OptionSpec& option : entry.options) {
      list += "    " + option.name + "=" + option.fallback + "  (" + option.allowed + ") " +
              option.help + "\n";
    }
  }
  return list;
}

CatalogEntry FindInCatalog(const std::string& text, const std::string& key) {
  const std::string name = text.substr(0, text.find(':'));
  const auto& rows = DataCatalog();
  const auto row = std::ranges::find(rows, name, &CatalogEntry::name);
  if (row == rows.end()) {
    throw NotAmong(key, text, DatasetNames(), CommandOf("legacy-scenario") + " --dataset=list");
  }
  CatalogEntry entry = *row;
  const auto refuse = [&](const Error& error, const char* hint) {
    throw Error::Refusal(key + " " + text + ": " + error.what() + hint);
  };
  try {
    entry.given = ParseOneStage(text);
  } catch (const Error& error) {
    refuse(error, entry.options.empty() ? "" : " (paths hold no comma)");
  }
  try {
    ReadOptions(entry);
  } catch (const Error& error) {
    refuse(error, "");
  }
  return entry;
}

std::vector<fs::path> DataFiles(const CatalogEntry& entry, const fs::path& root) {
  if (entry.format == Format::kImageFolder) {
    return {entry.folder.empty() ? fs::path(PathOption(entry, "folder")) : root / entry.folder};
  }
  if (entry.name == "text") {
    const std::vector<std::string> files = TextFiles(entry);
    return {files.begin(), files.end()};
  }
  if (entry.name == "ratings") return {fs::path(PathOption(entry, "file"))};
  std::vector<fs::path> files;
  for (const std::string& name : entry.files) {
    const fs::path file = root / entry.folder / name;
    const fs::path packed = file.string() + ".gz";
    files.push_back(!fs::exists(file) && fs::exists(packed) ? packed : file);
  }
  return files;
}

bool IsHere(const CatalogEntry& entry, const fs::path& root) {
  return std::ranges::all_of(DataFiles(entry, root),
                             [](const fs::path& file) { return fs::exists(file); });
}

void CheckIsHere(const CatalogEntry& entry, const fs::path& root) {
  if (entry.format == Format::kCifar10 || entry.format == Format::kCifar100) {
    for (const bool training : {true, false}) {
      CifarFiles(entry, root / entry.folder, training);
    }
    return;
  }
  for (const fs::path& file : DataFiles(entry, root)) {
    if (fs::exists(file)) continue;
    // The message names the compressed form, which is the one that is downloaded.
    ThrowMissing(entry, entry.format == Format::kIdx ? fs::path(file.string() + ".gz") : file);
  }
}

bool IsHeldInMemory(const CatalogEntry& entry) {
  return entry.format == Format::kEmbedded || entry.format == Format::kIdx ||
         entry.format == Format::kCifar10 || entry.format == Format::kCifar100;
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
  if (!IsHeldInMemory(entry)) {
    throw Error("data set", entry.name, "a set of images that is held in memory, such as cifar10");
  }
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
