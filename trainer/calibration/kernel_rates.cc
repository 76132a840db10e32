#include "trainer/calibration/kernel_rates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

constexpr int kWorkers = 4;

std::vector<MeasuredPart> MeasureParts(const KernelSizes& sizes, const Repetition& repetition) {
  const std::vector<SchemeCase> cases = MeasuredSchemes();
  const auto small = MeasureSchemes(cases, sizes.small, kWorkers, repetition);
  const auto large = MeasureSchemes(cases, sizes.large, kWorkers, repetition);
  std::vector<MeasuredPart> parts;
  for (size_t i = 0; i < cases.size(); ++i) {
    parts.push_back(
        {small[i].encode, large[i].encode, small[i].encode_seconds, large[i].encode_seconds});
    parts.push_back(
        {small[i].decode, large[i].decode, small[i].decode_seconds, large[i].decode_seconds});
  }
  return parts;
}

std::set<std::string> Unpriced(const MeasuredPart& part, const Profile& profile) {
  std::set<std::string> names;
  for (const WorkList* list : {&part.small, &part.large}) {
    for (const Work& work : *list) {
      if (!work.kernel.empty() && !profile.kernels.contains(work.kernel)) names.insert(work.kernel);
    }
  }
  return names;
}

// A Share is one kernel's part of a list of work: elements and seconds of one launch.
struct Share {
  int64_t elements = 0;
  double seconds = 0;
};
Share ShareOf(const std::string& kernel, const WorkList& list, double seconds,
              const Profile& profile) {
  Work own{kernel, 0, 0};
  for (const Work& work : list) {
    if (work.kernel != kernel) {
      seconds -= profile.WorkSeconds(work);
    } else {
      own.elements += work.elements;
      own.launches += work.launches;
    }
  }
  if (own.launches == 0) return {};
  return {own.elements / own.launches, std::max(0.0, seconds) / static_cast<double>(own.launches)};
}

// An OpenKernel collects the parts in which it is the only kernel without a rate. Elements and
// times are summed, so that parts count by their work.
struct OpenKernel {
  Share small, large;
  int64_t parts = 0;

  void Add(const Share& of_small, const Share& of_large) {
    small.elements += of_small.elements;
    small.seconds += of_small.seconds;
    large.elements += of_large.elements;
    large.seconds += of_large.seconds;
    ++parts;
  }
  KernelRate Rate() const {
    const auto count = static_cast<double>(parts);
    return LineThrough(small.elements / parts, small.seconds / count, large.elements / parts,
                       large.seconds / count);
  }
};

double Charged(const Profile& profile, const WorkList& list) {
  double seconds = 0;
  for (const Work& work : list) seconds += profile.WorkSeconds(work);
  return seconds;
}

}  // namespace

double MedianSeconds(const std::function<void()>& call, const Repetition& repetition) {
  call();  // fills caches, allocates, and runs the libraries' first-call work
  std::vector<double> times;
  for (int run = 0; run < repetition.runs; ++run) {
    int64_t calls = 0;
    const double start = ProcessorSeconds();
    do {
      call();
      ++calls;
    } while (ProcessorSeconds() - start < repetition.seconds);
    times.push_back((ProcessorSeconds() - start) / static_cast<double>(calls));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void SolveKernels(const std::vector<MeasuredPart>& parts, Profile& profile) {
  for (bool found = true; found;) {
    std::map<std::string, OpenKernel> kernels;
    for (const MeasuredPart& part : parts) {
      const std::set<std::string> open = Unpriced(part, profile);
      if (open.size() != 1) continue;
      const std::string& name = *open.begin();
      kernels[name].Add(ShareOf(name, part.small, part.small_seconds, profile),
                        ShareOf(name, part.large, part.large_seconds, profile));
    }
    for (const auto& [name, kernel] : kernels) profile.kernels[name] = kernel.Rate();
    found = !kernels.empty();
  }
  for (const MeasuredPart& part : parts) {
    for (const std::string& name : Unpriced(part, profile)) {
      throw Error("calibration: no step of a scheme gives the time of kernel " + name);
    }
  }
}

void MeasureKernels(const KernelSizes& sizes, const Repetition& repetition, Profile& profile) {
  for (const LoneKernel& kernel : LoneKernels(sizes)) {
    const auto seconds = [&](int64_t size) {
      return MedianSeconds(kernel.prepare(size), repetition);
    };
    profile.kernels[kernel.name] =
        LineThrough(kernel.elements(kernel.small), seconds(kernel.small),
                    kernel.elements(kernel.large), seconds(kernel.large));
  }
  profile.kernels["moved"] = {};  // on a processor the other kernels' rates include it
  SolveKernels(MeasureParts(sizes, repetition), profile);
}

std::vector<CheckedScheme> CheckSchemes(const Profile& profile, int64_t numel,
                                        const Repetition& repetition) {
  const std::vector<SchemeCase> cases = MeasuredSchemes();
  const auto steps = MeasureSchemes(cases, numel, kWorkers, repetition);
  std::vector<CheckedScheme> checked;
  for (size_t i = 0; i < cases.size(); ++i) {
    checked.push_back({cases[i], Charged(profile, steps[i].encode), steps[i].encode_seconds,
                       Charged(profile, steps[i].decode), steps[i].decode_seconds});
  }
  return checked;
}

}  // namespace legacy
