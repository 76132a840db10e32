// legacy-bench-images measures how fast a folder of photographs becomes crops for training,
// compared with libjpeg-turbo alone, which decodes the same files to the same scale, whole, and
// throws the pixels away.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/median.h"
#include "base/programs/program.h"
#include "trainer/bench/drawn_jpeg.h"
#include "trainer/data/decode_pool.h"
#include "trainer/data/image_decoder.h"
#include "trainer/data/image_folder.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  int pictures = 64;
  int64_t crops = 512;
  int rounds = 7;
  int size = 224;
  bool evaluate = false;
};

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// A Folder is a temporary folder of drawn photographs, whose files are in the system's cache.
class Folder {
 public:
  explicit Folder(int pictures) {
    std::string name = (fs::temp_directory_path() / "legacy-images-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
    for (int i = 0; i < pictures; ++i) {
      const std::vector<uint8_t> file = DrawJpeg({.number = static_cast<uint32_t>(i)});
      bytes_ += static_cast<int64_t>(file.size());
      for (const char* split : {"train", "val"}) {
        const fs::path folder = path_ / split / std::to_string(i % 8);
        fs::create_directories(folder);
        std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
            .write(reinterpret_cast<const char*>(file.data()),
                   static_cast<std::streamsize>(file.size()));
      }
    }
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  int64_t bytes() const { return bytes_; }

 private:
  fs::path path_;
  int64_t bytes_ = 0;
};

std::vector<ImageJob> Jobs(const ImageFolder& folder, const Options& options, int round) {
  std::vector<ImageJob> jobs;
  for (int64_t i = 0; i < options.crops; ++i) {
    ImageJob job{!options.evaluate, i % folder.samples(!options.evaluate), {}};
    if (!options.evaluate) {
      job.augment = RandomKey{.seed = static_cast<uint64_t>(round),
                              .step = static_cast<uint64_t>(i),
                              .purpose = Purpose::kAugment};
    }
    jobs.push_back(job);
  }
  return jobs;
}

// Returns the seconds that libjpeg-turbo takes for the jobs, from files that are in memory.
double TimeLibrary(const ImageFolder& folder, const std::vector<ImageJob>& jobs, int size,
                   int threads) {
  std::vector<std::vector<uint8_t>> files;
  for (int64_t i = 0; i < folder.samples(jobs[0].training); ++i) {
    std::ifstream in(folder.file(jobs[0].training, i), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::vector<int> reductions;
  for (const ImageJob& job : jobs) {
    const ImageShape shape = ReadImageShape(files[static_cast<size_t>(job.sample)], "");
    const CropChoice crop = job.augment ? DrawCrop(shape, *job.augment) : CentreCrop(shape, size);
    reductions.push_back(ReductionFor(crop, size));
  }
  const auto start = Clock::now();
  std::atomic<size_t> next = 0;
  std::vector<std::thread> helpers;
  for (int i = 0; i < threads; ++i) {
    helpers.emplace_back([&] {
      DecodedJpeg picture;
      for (size_t job = next++; job < jobs.size(); job = next++) {
        DecodeJpeg(files[static_cast<size_t>(jobs[job].sample)], reductions[job], picture);
      }
    });
  }
  for (std::thread& helper : helpers) helper.join();
  return Seconds(Clock::now() - start);
}

// Returns the seconds that the pool takes for the jobs, from files to crops.
double TimePool(const ImageFolder& folder, const std::vector<ImageJob>& jobs, int threads) {
  constexpr size_t kBatch = 32;
  // The thread that takes the crops decodes as well.
  DecodePool pool(folder, threads - 1, int64_t{4} * kBatch);
  const auto start = Clock::now();
  std::vector<DecodePool::Ticket> tickets;
  for (size_t at = 0; at < jobs.size(); at += kBatch) {
    const size_t end = std::min(jobs.size(), at + kBatch);
    tickets.push_back(pool.Prefetch({jobs.begin() + static_cast<std::ptrdiff_t>(at),
                                     jobs.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  for (const DecodePool::Ticket ticket : tickets) pool.Take(ticket);
  return Seconds(Clock::now() - start);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the decoding of images beside libjpeg-turbo.", "legacy-bench-images");
  app.add_option("--pictures", options.pictures, "photographs to draw, 500 x 375")
      ->check(CLI::Range(1, 10000));
  app.add_option("--crops", options.crops, "crops to decode in a round")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--rounds", options.rounds, "rounds, of which the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--size", options.size, "side of the crops")->check(CLI::Range(8, 1024));
  app.add_flag("--evaluate", options.evaluate, "centre crops, as in evaluation");
  CLI11_PARSE(app, argc, argv);

  const Folder files(options.pictures);
  const ImageFolder folder({.folder = files.path(), .size = options.size, .cache = {}});
  std::printf("%d drawn photographs of 500 x 375, %.0f kB each; %lld %s crops of %d x %d a round\n",
              options.pictures, static_cast<double>(files.bytes()) / options.pictures / 1e3,
              static_cast<long long>(options.crops), options.evaluate ? "centre" : "random",
              options.size, options.size);
  std::printf("%-8s %22s %22s %8s\n", "threads", "libjpeg-turbo alone/s", "files to crops/s",
              "ratio");
  const int all = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<int> counts = {1};
  if (all > 1) counts.push_back(all);
  for (const int threads : counts) {
    std::vector<double> library, pool, ratios;
    for (int round = 0; round <= options.rounds; ++round) {
      const std::vector<ImageJob> jobs = Jobs(folder, options, round);
      const double alone = TimeLibrary(folder, jobs, options.size, threads);
      const double crops = TimePool(folder, jobs, threads);
      if (round == 0) continue;  // warms up
      library.push_back(static_cast<double>(jobs.size()) / alone);
      pool.push_back(static_cast<double>(jobs.size()) / crops);
      ratios.push_back(alone / crops);
    }
    std::printf("%-8d %22.0f %22.0f %8.2f\n", threads, Median(library), Median(pool),
                Median(ratios));
  }
  return 0;
}

}  // namespace
}  // namespace legacy

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-bench-images", [&] { return legacy::Main(argc, argv); });
}
