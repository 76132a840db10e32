// DynamiQ with 4 bits for each value and 8 workers: the statistics of a worker, and a hop of a sum.
#include <memory>

#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/coding/dynamiq_kernels.h"

namespace legacy::bench {
namespace {

constexpr int kBits = 4;
constexpr int kWorkers = 8;

int64_t SupersOf(int64_t length) { return (length + dynamiq::kSuper - 1) / dynamiq::kSuper; }
int64_t Supers(const Case& c) {
  int64_t supers = 0;
  for (const int64_t length : c.lengths) supers += SupersOf(length);
  return supers;
}

// A case's vectors in the order of their super-groups.
struct Laid {
  Laid(const Case& c, uint32_t seed, Arena& arena) {
    const cuda::SegmentTable table = c.Table();
    std::vector<cuda::DynamiqUnit> units;
    std::vector<cuda::DynamiqPlace> places;
    std::vector<cuda::DynamiqHop> all;
    std::vector<int64_t> before = {0};
    for (const cuda::Extent& extent : table.extents()) {
      const auto number = static_cast<uint32_t>(units.size());
      const int64_t count = SupersOf(extent.length), begin = before.back();
      units.push_back({.extent = extent, .first = begin, .supers = count, .number = number});
      all.push_back({.unit = static_cast<int32_t>(number),
                     .input = cuda::HopInput::kSum,
                     .in = begin * dynamiq::SuperBytes(kBits),
                     .out = begin * dynamiq::SuperBytes(kBits)});
      for (int64_t i = 0; i < count; ++i) {
        places.push_back({.super = i, .offset = i * dynamiq::SuperBytes(kBits), .bits = kBits});
      }
      before.push_back(begin + count);
    }
    supers = before.back();
    values = Input(c, seed, arena);
    faults = arena.NewCopy(std::vector<uint32_t>(units.size()));
    first = arena.NewCopy(before);
    hops = arena.NewCopy(all);
    float* const own = arena.New<float>(supers * dynamiq::kSuper);
    FillInput(c.input, seed, own, supers * dynamiq::kSuper);
    step = {.units = arena.NewCopy(units),
            .first = first,
            .count = static_cast<int32_t>(units.size()),
            .places = arena.NewCopy(places),
            .tables = arena.NewCopy(
                std::vector{dynamiq::TableOf(2), dynamiq::TableOf(4), dynamiq::TableOf(8)}),
            .permutations = arena.New<uint16_t>(supers * dynamiq::kGroups * kWorkers),
            .own = own,
            .key = {.seed = seed},
            .workers = kWorkers};
  }
  cuda::DynamiqAddHop::Args Hop(const std::byte* sums, std::byte* out) const {
    return {.step = step,
            .hops = hops,
            .first = first,
            .count = step.count,
            .messages = nullptr,
            .sums = sums,
            .out = out,
            .overflows = faults};
  }

  int64_t supers = 0;
  const float* values = nullptr;
  const int64_t* first = nullptr;
  const cuda::DynamiqHop* hops = nullptr;
  uint32_t* faults = nullptr;
  cuda::DynamiqStep step;
};

double StatisticsBytes(const Case& c) {
  return Floats<1>(c) + 8.0 * static_cast<double>(Supers(c));
}

Work Statistics(const Case& c, uint32_t seed, Arena& arena) {
  const auto laid = std::make_shared<Laid>(c, seed, arena);
  const cuda::DynamiqStatistics::Args args = {.units = laid->step.units,
                                              .first = laid->first,
                                              .count = laid->step.count,
                                              .values = laid->values,
                                              .statistics = arena.New<float>(2 * laid->supers),
                                              .non_finite = laid->faults};
  return Runs(
      [=](StreamDevice device) { cuda::LaunchDynamiqStatistics(device, laid->supers, args); });
}

double HopBytes(const Case& c) {
  return Floats<1>(c) + 2.0 * static_cast<double>(Supers(c) * dynamiq::SuperBytes(kBits));
}

// What arrives are arbitrary bytes that an encoder can have written: those of another hop.
Work AddHop(const Case& c, uint32_t seed, Arena& arena) {
  const auto laid = std::make_shared<Laid>(c, seed, arena);
  const int64_t bytes = laid->supers * dynamiq::SuperBytes(kBits);
  std::byte* const in = arena.NewCopy(std::vector<std::byte>(static_cast<size_t>(bytes)));
  std::byte* const out = arena.New<std::byte>(bytes);
  StreamDevice now(nullptr);
  now.Launch<cuda::DynamiqDraw>(cuda::TilesOf(laid->supers, cuda::DynamiqDraw::kThreads),
                                {laid->step});
  cuda::LaunchDynamiqHops(now, laid->supers, laid->Hop(in, out));
  CopyBytes(out, in, bytes);
  return Runs([=](StreamDevice device) {
    cuda::LaunchDynamiqHops(device, laid->supers, laid->Hop(in, out));
  });
}

}  // namespace

std::vector<Row> DynamiqRows() {
  return {{"dynamiq.statistics", nullptr, nullptr, false, StatisticsBytes, Statistics},
          {"dynamiq.hop", nullptr, nullptr, false, HopBytes, AddHop}};
}

}  // namespace legacy::bench
