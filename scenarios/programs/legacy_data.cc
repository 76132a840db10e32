// legacy-data lists, fetches, checks and shows data sets.
//
// Exit statuses: 0 done, 1 an error of the user or of a file, 2 a wrong command line, 3 no network.
#include <curl/curl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/arguments.h"
#include "base/program.h"
#include "trainer/data/contact_sheet.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/data_fetch.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr int kNoNetwork = 3;

struct Options {
  std::string name;
  std::string data_root;
  std::string out;
  bool test = false;
  int columns = 20;
  int rows = 10;
};

void List(const Options& options) {
  const fs::path root = DataRoot(options.data_root);
  std::printf("data root: %s\n", root.c_str());
  for (const auto& entry : DataCatalog()) {
    const char* state = entry.files.empty()   ? "embedded"
                        : IsHere(entry, root) ? "here"
                                              : "not fetched";
    std::printf("%-14s %-12s %3d classes  %s\n", entry.name.c_str(), state, entry.classes,
                entry.licence.c_str());
  }
}

// A ProgressLine rewrites one line on a terminal; elsewhere it prints a line for each source, when
// it starts.
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

void Check(const Options& options) {
  const CatalogEntry& entry = FindInCatalog(options.name);
  const fs::path root = DataRoot(options.data_root);
  for (const bool training : {true, false}) {
    const ImageSet images = LoadImages(entry, root, training, 0);
    std::printf("%s %s: %lld images, %d x %d x %d, %d classes: ok\n", entry.name.c_str(),
                training ? "training" : "test", static_cast<long long>(images.samples()),
                images.channels, images.height, images.width, entry.classes);
  }
}

void Fetch(const Options& options) {
  const CatalogEntry& entry = FindInCatalog(options.name);
  ProgressLine line;
  FetchData(entry, DataRoot(options.data_root), std::ref(line));
  Check(options);
}

void Show(const Options& options) {
  const CatalogEntry& entry = FindInCatalog(options.name);
  const ImageSet images = LoadImages(entry, DataRoot(options.data_root), !options.test,
                                     int64_t{1} * options.columns * options.rows);
  WriteContactSheet(images, options.columns, options.rows, options.out);
  std::printf("wrote %s\n", options.out.c_str());
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
      "Exit status: 0 success, 1 error, 2 wrong command line, 3 no network, 130 interrupted.\n"
      "Handbook: docs/data.md.");
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* help, void (*action)(const Options&)) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("--data-root", options.data_root,
                    "folder of the data sets (default: $LEGACY_DATA, then ~/.cache/legacy-data)");
    sub->callback([&options, action] { action(options); });
    return sub;
  };
  command("list", "list the data sets, and whether they have been downloaded", List);
  for (CLI::App* sub :
       {command("fetch", "download the official files of a data set and check them", Fetch),
        command("check", "read and check all files of a data set", Check)}) {
    sub->add_option("name", options.name, "name of the data set")->required();
  }
  CLI::App* show = command("show", "write a picture of the first images of a data set", Show);
  show->add_option("name", options.name, "name of the data set")->required();
  show->add_option("--out", options.out, "picture to write: a .png, .pgm or .ppm file")->required();
  show->add_flag("--test", options.test, "show test images instead of training images");
  show->add_option("--columns", options.columns, "number of images per row")
      ->check(CLI::Range(1, 200));
  show->add_option("--rows", options.rows, "number of rows")->check(CLI::Range(1, 200));
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
          "legacy-data: %s\nWith no network here, run 'legacy-data fetch' where there is one, "
          "and copy the data root.\nThe embedded set 'glyphs' needs no files.\n",
          error.what());
      return legacy::kNoNetwork;
    }
  });
  curl_global_cleanup();
  return status;
}
