// legacy-bench-gpu compares every GPU kernel with a copy of the same number of bytes. It parses its
// own options, because it depends only on CUDA.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "compress/cuda/bench/report.h"

namespace legacy::bench {
namespace {

constexpr const char* kHelp = R"(Measures the GPU kernels, beside kernels that copy as many bytes.
Usage: legacy-bench-gpu [options]

  --kernels=A,B     kernels to measure, by parts of their names (default: all)
  --sizes=N,M       numbers of elements, or resnet50 for its layers
                    (default: 1e5,1e6,1e7,1e8,1e9,resnet50)
  --ratios=R,S      fractions of the elements to keep (default: 0.001,0.01,0.03,0.1)
  --inputs=A,B      distributions of the values (default: student-t,zeros,constant)
  --all             measure all combinations of sizes, ratios and inputs (default, unless one of
                    them is given: 1e8 student-t values with ratio 0.01, and all cases that differ
                    from it in one of the three)
  --turns=N         number of measurements of each case, whose median counts (default: 21)
  --json=FILE       file to write all figures to, as JSON
  --device          print which GPU there is, and exit
  --dry-run         list the cases with their bytes and ideal times; needs no GPU
  --bandwidth=B     memory bandwidth for the ideal times, in bytes per second (default: 3.0e12)
  --help            print this help and exit

Examples:
  legacy-bench-gpu --json=gpu.json
  legacy-bench-gpu --kernels=topk,qsgd --sizes=1e7 --dry-run

Exit status: 0 success, 1 no GPU or an unwritable file, 2 wrong command line.
)";

struct Options {
  std::vector<std::string> kernels;
  std::vector<std::string> sizes = {"1e5", "1e6", "1e7", "1e8", "1e9", "resnet50"};
  std::vector<double> ratios = {0.001, 0.01, 0.03, 0.1};
  std::vector<std::string> inputs = InputKinds();
  MeasureOptions measure;
  std::string json;
  double bandwidth = 3.0e12;
  bool combine = false;
  bool device = false, dry_run = false, help = false;
};

double NumberIn(const std::string& option, const std::string& text, double low, double high,
                const char* allowed) {
  const std::optional<double> number = ParseNumber(text);
  if (!number || !(*number >= low && *number <= high)) throw Error(option, text, allowed);
  return *number;
}

bool Chosen(const std::vector<std::string>& kernels, const Row& row) {
  return kernels.empty() || std::ranges::any_of(kernels, [&](const std::string& part) {
           return std::string_view(row.kernel).find(part) != std::string_view::npos;
         });
}

std::string KernelNames() {
  std::string names;
  for (const Row& row : Rows())
    names += (names.empty() ? "parts of " : ", ") + std::string(row.kernel);
  return names;
}

void SetLists(const std::string& name, const std::string& value, Options& options) {
  options.combine = options.combine || name != "--kernels";
  if (name == "--kernels") {
    options.kernels = Split(value, ',');
    for (const std::string& part : options.kernels) {
      const bool any =
          std::ranges::any_of(Rows(), [&](const Row& row) { return Chosen({part}, row); });
      if (part.empty() || !any) throw Error(name, part, KernelNames());
    }
  } else if (name == "--sizes") {
    options.sizes = Split(value, ',');
    for (const std::string& size : options.sizes) LengthsOf(size);
  } else if (name == "--ratios") {
    options.ratios.clear();
    for (const std::string& ratio : Split(value, ',')) {
      options.ratios.push_back(NumberIn(name, ratio, 1e-9, 1, "above 0, up to 1"));
    }
  } else {
    options.inputs = Split(value, ',');
    for (const std::string& input : options.inputs) {
      if (std::ranges::count(InputKinds(), input) == 0) {
        throw Error(name, input, "student-t, zeros, constant");
      }
    }
  }
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool valued = equals != std::string::npos;
    const std::string value = valued ? argument.substr(equals + 1) : "";
    if (!valued && name == "--help") {
      options.help = true;
    } else if (!valued && name == "--dry-run") {
      options.dry_run = true;
    } else if (!valued && name == "--all") {
      options.combine = true;
    } else if (!valued && name == "--device") {
      options.device = true;
    } else if (valued && name == "--json") {
      options.json = value;
    } else if (valued && name == "--turns") {
      options.measure.turns = static_cast<int>(NumberIn(name, value, 1, 1e4, "1 to 1e4"));
    } else if (valued && name == "--bandwidth") {
      options.bandwidth = NumberIn(name, value, 1, 1e18, "bytes per second such as 3.0e12");
    } else if (valued && (name == "--kernels" || name == "--sizes" || name == "--ratios" ||
                          name == "--inputs")) {
      SetLists(name, value, options);
    } else {
      throw Error("option", argument, "those of --help");
    }
  }
  return options;
}

// Returns the number of differences from the case that the others are compared with.
int Differences(const Row& row, const Case& of) {
  const bool other_ratio = row.by_ratio && of.ratio != 0.01;
  return (of.input != "student-t") + (of.size != "1e8") + other_ratio;
}

// Calls each(row, case) for all cases that the options select, in the order of the rows.
template <class Each>
void ForEachCase(const Options& options, Each each) {
  for (const Row& row : Rows()) {
    if (!Chosen(options.kernels, row)) continue;
    for (const std::string& input : options.inputs) {
      for (const std::string& size : options.sizes) {
        Case of{.input = input, .size = size, .lengths = LengthsOf(size)};
        for (const double ratio : row.by_ratio ? options.ratios : std::vector<double>{0}) {
          of.ratio = ratio;
          if (options.combine || Differences(row, of) <= 1) each(row, of);
        }
      }
    }
  }
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text;
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text << std::flush)) throw Error("cannot write " + path);
}

void Plan(const Options& options) {
  PrintPlanHead(stdout, options.bandwidth);
  ForEachCase(options, [&](const Row& row, const Case& of) {
    PrintPlanRow(stdout, row, of, options.bandwidth);
  });
}

void Run(const Options& options, const std::string& command) {
  const RunInfo run{FindDevice(), Now(), command, options.measure};
  std::printf("%s, driver %s, CUDA %s\n", run.device.name.c_str(), run.device.driver.c_str(),
              run.device.cuda.c_str());
  if (options.device) return;
  PrintHead(stdout);
  std::vector<Measurement> measurements;
  ForEachCase(options, [&](const Row& row, const Case& of) {
    measurements.push_back(Measure(row, of, run.device, options.measure));
    PrintRow(stdout, measurements.back());
    std::fflush(stdout);
    // Writes all results so far, so that an interrupted program keeps them.
    if (!options.json.empty()) Write(options.json, ToJson(run, measurements));
  });
}

}  // namespace
}  // namespace legacy::bench

int main(int argc, char** argv) {
  using namespace legacy::bench;
  std::string command = "legacy-bench-gpu";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  Options options;
  try {
    options = Parse(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-bench-gpu: %s\n", error.what());
    return 2;
  }
  if (options.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  try {
    options.dry_run ? Plan(options) : Run(options, command);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-bench-gpu: %s\n", error.what());
    return 1;
  }
  return 0;
}
