// legacy-data lists, fetches, checks and shows data sets.
//
// Exit statuses: 0 done, 1 an error, 2 a wrong option or value, 3 no network.
#include <curl/curl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/option_forms.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "scenarios/programs/table_options.h"
#include "trainer/data/contact_sheet.h"
#include "trainer/data/corpus.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/data_fetch.h"
#include "trainer/data/image_folder.h"
#include "trainer/data/ratings.h"
#include "trainer/data/unread.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Format = CatalogEntry::Format;

constexpr int kNoNetwork = 3;

struct Options {
  std::string name;
  std::string data_root;
  std::string out;
  bool test = false;
  bool options = false;
  int columns = 20;
  int rows = 10;
  int tokens = 60;
};

using Number = long long;  // as printf expects it

bool IsText(const CatalogEntry& entry) {
  return entry.format == Format::kWordFiles || entry.format == Format::kText ||
         entry.format == Format::kGrammar;
}
bool IsRatings(const CatalogEntry& entry) {
  return entry.format == Format::kRatings || entry.format == Format::kTastes;
}

const char* StateOf(const CatalogEntry& entry, const fs::path& root) {
  if (entry.format == Format::kEmbedded || entry.format == Format::kGrammar ||
      entry.format == Format::kTastes) {
    return "embedded";
  }
  if (entry.folder.empty()) return "your files";
  return IsHere(entry, root) ? "here" : "not fetched";
}

void List(const Options& options) {
  if (options.options) {
    std::fputs(DatasetList().c_str(), stdout);
    return;
  }
  const fs::path root = DataRoot(options.data_root);
  std::printf("data root: %s\n", root.c_str());
  for (const auto& entry : DataCatalog()) {
    std::printf("%-16s %-12s %s\n", entry.name.c_str(), StateOf(entry, root), entry.help.c_str());
    std::printf("%-16s %-12s %s\n", "", "", entry.licence.c_str());
  }
}

// A ProgressLine rewrites one line on a terminal; elsewhere it prints one line for each source,
// when the source starts.
class ProgressLine {
 public:
  void operator()(const std::string& url, int64_t done, int64_t total) {
    if (url != url_) {
      url_ = url;
      std::printf("%s%s\n", terminal_ && percent_ >= 0 ? "\n" : "", url.c_str());
      percent_ = -1;
    }
    const int percent = total > 0 ? static_cast<int>(100 * done / total) : 0;
    if (!terminal_ || percent == percent_) return;
    percent_ = percent;
    std::printf("\r  %3d %% of %.1f MB%s", percent, static_cast<double>(total) / 1e6,
                percent == 100 ? "\n" : "");
    std::fflush(stdout);
  }

 private:
  const bool terminal_ = isatty(STDOUT_FILENO) != 0;
  std::string url_;
  int percent_ = -1;
};

void PrintCounts(const Corpus& corpus) {
  std::printf("%s: %lld training, %lld validation, %lld test %s; vocabulary %lld",
              corpus.name.c_str(), static_cast<Number>(corpus.train.size()),
              static_cast<Number>(corpus.valid.size()), static_cast<Number>(corpus.test.size()),
              UnitName(corpus.unit), static_cast<Number>(corpus.vocabulary_size()));
  if (corpus.unknown > 0) {
    std::printf("; %lld of validation and test became <unk>", static_cast<Number>(corpus.unknown));
  }
  if (corpus.least_perplexity) std::printf("; least perplexity %.2f", *corpus.least_perplexity);
}

void PrintCounts(const Ratings& ratings) {
  std::printf("%s: %lld users, %lld items, %lld ratings", ratings.name.c_str(),
              static_cast<Number>(ratings.users), static_cast<Number>(ratings.items),
              static_cast<Number>(ratings.lines));
  if (ratings.repeated > 0) {
    std::printf(" (%lld of an item again)", static_cast<Number>(ratings.repeated));
  }
  std::printf("; %lld for training, %lld held out", static_cast<Number>(ratings.pairs()),
              static_cast<Number>(ratings.EvaluatedUsers().size()));
}

// Reads every image of a folder completely. Throws Error that names the first broken ones.
void CheckFolder(const CatalogEntry& entry, const fs::path& root) {
  constexpr size_t kNamed = 10;
  const ImageFolder folder(FolderRequest(entry, root, true));
  std::vector<std::string> broken;
  int64_t count = 0;
  for (const bool training : {true, false}) {
    for (int64_t i = 0; i < folder.samples(training); ++i) {
      try {
        folder.Check(training, i);
      } catch (const Error& error) {
        ++count;
        if (broken.size() < kNamed) broken.emplace_back(error.what());
      }
    }
    if (count == 0) {
      std::printf("%s %s: %lld images, %zu classes: ok\n", entry.name.c_str(),
                  training ? "training" : "validation",
                  static_cast<Number>(folder.samples(training)), folder.classes().size());
    }
  }
  for (const std::string& line : folder.Unread()) std::printf("not read: %s\n", line.c_str());
  if (count == 0) return;
  std::string names;
  for (const std::string& text : broken) names += "\n  " + text;
  if (count > static_cast<int64_t>(kNamed)) names += "\n  ...";
  throw Error(folder.folder().string() + ": " + std::to_string(count) + " broken images:" + names);
}

void Check(const Options& options) {
  const CatalogEntry entry = FindInCatalog(options.name);
  const fs::path root = DataRoot(options.data_root);
  if (IsText(entry)) {
    PrintCounts(ReadCorpus(entry, root));
    std::printf(": ok\n");
  } else if (IsRatings(entry)) {
    PrintCounts(LoadRatings(entry, root, false));
    std::printf(": ok\n");
  } else if (entry.format == Format::kImageFolder) {
    CheckFolder(entry, root);
  } else {
    for (const bool training : {true, false}) {
      const ImageSet images = LoadImages(entry, root, training, 0);
      std::printf("%s %s: %lld images, %d x %d x %d, %d classes: ok\n", entry.name.c_str(),
                  training ? "training" : "test", static_cast<Number>(images.samples()),
                  images.channels, images.height, images.width, entry.classes);
    }
  }
  for (const std::string& line : UnreadParts(entry, root)) {
    std::printf("not read: %s\n", line.c_str());
  }
}

void Fetch(const Options& options) {
  const CatalogEntry entry = FindInCatalog(options.name);
  ProgressLine line;
  FetchData(entry, DataRoot(options.data_root), std::ref(line));
  Check(options);
}

// Returns a token as it is shown in a list.
std::string Shown(const Corpus& corpus, int32_t token) {
  const std::string& text = corpus.vocabulary[static_cast<size_t>(token)];
  if (corpus.unit == TextUnit::kWords) return text;
  const auto first = static_cast<unsigned char>(text.front());
  if (first > ' ' && (text.size() > 1 || first < 0x7F)) return text;
  char code[8];
  std::snprintf(code, sizeof(code), "0x%02x", first);
  return text == " " ? "blank" : text == "\n" ? "newline" : code;
}

void ShowText(const Corpus& corpus, const Options& options) {
  constexpr size_t kFrequent = 20;
  PrintCounts(corpus);
  const auto tokens = corpus.train.tokens();
  std::vector<int64_t> counts(corpus.vocabulary.size());
  for (const int32_t token : tokens) ++counts[static_cast<size_t>(token)];
  std::vector<int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  std::printf("\nmost frequent:");
  for (size_t i = 0; i < std::min(kFrequent, order.size()); ++i) {
    std::printf("%s %s %.2f %%", i > 0 ? "," : "", Shown(corpus, order[i]).c_str(),
                100.0 * static_cast<double>(counts[static_cast<size_t>(order[i])]) /
                    static_cast<double>(tokens.size()));
  }
  const auto sample = (options.test ? corpus.test : corpus.train).tokens();
  std::printf("\n%s text:\n", options.test ? "test" : "training");
  const bool words = corpus.unit == TextUnit::kWords;
  // A line holds several times as many characters as words.
  const size_t count =
      std::min(sample.size(), static_cast<size_t>(options.tokens) * (words ? 1 : 6));
  for (size_t i = 0; i < count; ++i) {
    const std::string& text = corpus.vocabulary[static_cast<size_t>(sample[i])];
    std::printf("%s%s", text.c_str(), !words ? "" : text == "<eos>" ? "\n" : " ");
  }
  std::printf("\n");
}

void ShowRatings(const Ratings& ratings) {
  PrintCounts(ratings);
  std::vector<int64_t> of_users, of_items(static_cast<size_t>(ratings.items));
  for (int32_t user = 0; user < ratings.users; ++user) {
    of_users.push_back(std::ssize(ratings.ItemsOf(user)));
  }
  for (const int32_t item : ratings.train_items) ++of_items[static_cast<size_t>(item)];
  std::printf("\n");
  for (auto* counts : {&of_users, &of_items}) {
    std::ranges::sort(*counts);
    std::printf("training items of %s: least %lld, median %lld, most %lld\n",
                counts == &of_users ? "a user" : "an item", static_cast<Number>(counts->front()),
                static_cast<Number>((*counts)[counts->size() / 2]),
                static_cast<Number>(counts->back()));
  }
  std::printf("evaluation: the held-out item among %d others that the user does not have\n",
              ratings.negatives);
}

// Returns the first images of a folder: one of every class, then the next one of every class.
ImageSet FirstOfClasses(const CatalogEntry& entry, const fs::path& root, bool training,
                        int64_t most) {
  const ImageFolder folder(FolderRequest(entry, root, false));
  std::vector<std::pair<int64_t, int64_t>> order;  // position within the class, sample
  int64_t place = 0;
  for (int64_t i = 0; i < folder.samples(training); ++i) {
    place = i > 0 && folder.label(training, i) == folder.label(training, i - 1) ? place + 1 : 0;
    order.emplace_back(place, i);
  }
  std::ranges::sort(order);
  order.resize(static_cast<size_t>(std::min<int64_t>(most, std::ssize(order))));
  ImageSet images;
  images.channels = 3;
  images.height = images.width = folder.size();
  images.pixels.resize(order.size() * static_cast<size_t>(folder.image_bytes()));
  for (size_t i = 0; i < order.size(); ++i) {
    const auto bytes = static_cast<size_t>(folder.image_bytes());
    folder.Decode({.training = training, .sample = order[i].second},
                  std::span(images.pixels).subspan(i * bytes, bytes));
    images.labels.push_back(static_cast<uint8_t>(folder.label(training, order[i].second)));
  }
  return images;
}

void Show(const Options& options) {
  const CatalogEntry entry = FindInCatalog(options.name);
  const fs::path root = DataRoot(options.data_root);
  if (IsText(entry)) return ShowText(LoadCorpus(entry, root), options);
  if (IsRatings(entry)) return ShowRatings(LoadRatings(entry, root));
  if (options.out.empty()) {
    throw Error("--out", "", "a .png, .pgm or .ppm file, as " + entry.name + " has images");
  }
  const int64_t most = int64_t{1} * options.columns * options.rows;
  const ImageSet images = IsHeldInMemory(entry) ? LoadImages(entry, root, !options.test, most)
                                                : FirstOfClasses(entry, root, !options.test, most);
  WriteContactSheet(images, options.columns, options.rows, options.out);
  std::printf("wrote %s\n", options.out.c_str());
}

Option<Options> DataRootRow() {
  using option_forms::Text;
  return Text<&Options::data_root>(
      "data-root", "--data-root", "DIR",
      "folder of the data sets (default: $LEGACY_DATA, then ~/.cache/legacy-data)");
}

OptionTable<Options> ShowRows() {
  using namespace option_forms;
  return {
      Text<&Options::out>("out", "--out", "FILE", "picture to write: a .png, .pgm or .ppm file"),
      Flag<&Options::test>("test", "--test", "show test images or text instead of training ones"),
      Integer<&Options::columns, 1, 200>("columns", "--columns", "number of images per row"),
      Integer<&Options::rows, 1, 200>("rows", "--rows", "number of rows"),
      Integer<&Options::tokens, 0, 1'000'000>(
          "tokens", "--tokens", "words of a text to print (six times as many characters)"),
  };
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Lists, downloads, checks and shows the data sets for training.", "legacy-data");
  PrepareArguments(app);
  app.footer(
      "Examples:\n"
      "  legacy-data list\n"
      "  legacy-data fetch fashion-mnist\n"
      "  legacy-data show cifar10 --out=images.png\n"
      "  legacy-data show text:file=novel.txt,unit=characters\n"
      "Exit status: 0 success, 1 error, 2 wrong option or value, 3 no network, 130 interrupted.\n"
      "Handbook: docs/data.md.");
  app.require_subcommand(1);
  std::vector<std::unique_ptr<TableOptions<Options>>> tables;
  const auto command = [&](const char* name, const char* help, void (*action)(const Options&),
                           OptionTable<Options> rows = {}) {
    CLI::App* sub = app.add_subcommand(name, help);
    rows.insert(rows.begin(), DataRootRow());
    tables.push_back(
        std::make_unique<TableOptions<Options>>(*sub, FewOptions(std::move(rows)), Options()));
    sub->callback([&options, action, table = tables.back().get()] {
      table->Apply(options);
      action(options);
    });
    return sub;
  };
  constexpr const char* kName = "data set, with its options as in text:file=novel.txt";
  command("list", "list the data sets, and whether they have been downloaded", List,
          {option_forms::Flag<&Options::options>("options", "--options",
                                                 "list the tasks and options of all data sets")});
  for (CLI::App* sub :
       {command("fetch", "download the official files of a data set and check them", Fetch),
        command("check", "read and check all files of a data set", Check)}) {
    sub->add_option("name", options.name, kName)->required();
  }
  CLI::App* show =
      command("show", "write a picture of the first images, or print counts and a part of a text",
              Show, ShowRows());
  show->add_option("name", options.name, kName)->required();
  return ParseArguments(app, argc, argv).value_or(0);
}

}  // namespace
}  // namespace legacy

int main(int argc, char** argv) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const int status = legacy::ProgramStatus("legacy-data", [&] {
    try {
      return legacy::Main(argc, argv);
    } catch (const legacy::NetworkError& error) {
      std::fprintf(
          stderr,
          "legacy-data: %s\nWith no network here, run '%s fetch' where there is one, and "
          "copy the data root.\nThe embedded sets 'glyphs', 'grammar' and 'tastes' need no "
          "files.\n",
          error.what(), legacy::CommandOf("legacy-data").c_str());
      return legacy::kNoNetwork;
    }
  });
  curl_global_cleanup();
  return status;
}
