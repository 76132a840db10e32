#include "compress/schemes/sparse/oktopk_exchange.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"

namespace legacy {
namespace {

constexpr float kLeastThreshold = std::numeric_limits<float>::denorm_min();

}  // namespace

OkTopKExchange::OkTopKExchange(const OkTopKOptions& options, const Unit& unit, int workers)
    : ExchangeBase("oktopk", unit, workers, options.Memory()), options_(options), sets_(workers) {}

int64_t OkTopKExchange::Count() const { return KeptCount(unit().numel, step().parameter); }

void OkTopKExchange::Begin(const UnitStep& context) {
  CheckParameter(DensityParameter(), context.parameter);
  SetStep(context);
  const auto active = static_cast<size_t>(ActiveWorkers());
  exact_ = global_ == 0 || context.info.step % options_.thresholds == 0;
  new_bounds_ = bounds_.size() + 1 != active || context.info.step % options_.regions == 0;
  balances_ = false;
  accumulated_ = 0;
  bound_sums_.assign(active - 1, 0);
  counts_.clear();
  numbers_.clear();
  sums_.assign(static_cast<size_t>(unit().numel), 0.0f);
  result_.assign(sums_.size(), 0.0f);
  magnitudes_.clear();
  selected_.clear();
  held_.assign(active, {});
  sent_ = 0;
  call_ = kBoundsCall - 1;
  call_ = NextIndex();
}

// Returns the next call that this step has.
int OkTopKExchange::NextIndex() const {
  int next = call_ + 1;
  if (next == kBoundsCall && (!new_bounds_ || ActiveWorkers() == 1)) ++next;
  if (next == kRegionCountsCall && !exact_) next = kSelectedCall;
  if (next == kBalanceCall && !balances_) ++next;
  return next;
}

std::optional<CollectiveCall> OkTopKExchange::NextCall() {
  if (call_ == kDone) return std::nullopt;
  CollectiveCall call = DescribeCall();
  const bool first = call_ == kBoundsCall || (call_ == kCountsCall && bound_sums_.empty()) ||
                     (call_ == kCountsCall && !new_bounds_);
  if (first) {
    WorkList work = Step().SetWork(exact_);
    AddWork(call.encode, work);
    call.encode = std::move(work);
  }
  return call;
}

CollectiveCall OkTopKExchange::DescribeCall() const {
  const OkTopKStep step = Step();
  const int64_t active = ActiveWorkers();
  const int64_t all = std::accumulate(selected_.begin(), selected_.end(), int64_t{0});
  switch (call_) {
    case kBoundsCall:
      return step.Bounds();
    case kCountsCall:
      return step.Counts();
    case kPartsCall:
      return step.Parts(Sum(counts_) / active);
    case kRegionCountsCall:
      return step.RegionCounts();
    case kMagnitudesCall:
      return step.Magnitudes(Sum(numbers_));
    case kSelectedCall:
      return step.Selected();
    case kBalanceCall:
      return step.Balance(all / active);
    default:
      return step.Gather(all / active, all);
  }
}

int64_t OkTopKExchange::Sum(const std::vector<std::vector<uint32_t>>& numbers) {
  int64_t sum = 0;
  for (const auto& row : numbers) sum = std::accumulate(row.begin(), row.end(), sum);
  return sum;
}

size_t OkTopKExchange::IndexOf(int worker) const {
  size_t index = 0;
  while (ActiveWorker(static_cast<int>(index)) != worker) ++index;
  return index;
}

std::pair<int64_t, int64_t> OkTopKExchange::Region(size_t index) const {
  return {index == 0 ? 0 : bounds_[index - 1],
          index == bounds_.size() ? unit().numel : bounds_[index]};
}

std::span<const float> OkTopKExchange::RegionSums(size_t index) const {
  const auto [begin, end] = Region(index);
  return std::span(sums_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

Message OkTopKExchange::Encode(int worker, std::span<const float> gradient) {
  if (unit().numel > 0 && !gradient.empty()) FindSet(worker, gradient);
  const size_t index = IndexOf(worker);
  switch (call_) {
    case kBoundsCall:
      return MessageOfNumbers(OwnBounds(worker));
    case kPartsCall:
      return EncodeParts(worker);
    case kMagnitudesCall:
      return EncodeMagnitudes(index);
    case kBalanceCall:
      return EncodeBalance(index);
    case kGatherCall: {
      Message message;
      AppendEntries(unit(), call_, held_[index], 0, held_[index].positions.size(), message.bytes);
      return message;
    }
    default:
      return MessageOfNumbers(Numbers(worker));
  }
}

void OkTopKExchange::FindSet(int worker, std::span<const float> gradient) {
  assert(static_cast<int64_t>(gradient.size()) == unit().numel);
  const std::span<const float> e = memory().Compensate(worker, gradient);
  CheckFinite(e, unit().id);
  double& threshold = StateOf(worker).numbers[0];
  if (exact_ || threshold == 0) {
    float least = std::numeric_limits<float>::max();
    for (const uint32_t i : cpu::SelectTopK(e, Count())) least = std::min(least, std::abs(e[i]));
    threshold = std::max(least, kLeastThreshold);
  }
  const auto bound = static_cast<float>(threshold);
  std::vector<uint32_t>& set = sets_[worker];
  set.clear();
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::abs(e[i]) >= bound) set.push_back(static_cast<uint32_t>(i));
  }
}

// Divides the set in parts of equal counts; an empty one, the unit.
std::vector<uint64_t> OkTopKExchange::OwnBounds(int worker) const {
  const std::vector<uint32_t>& set = sets_[worker];
  const auto active = static_cast<uint64_t>(ActiveWorkers());
  std::vector<uint64_t> bounds;
  for (uint64_t q = 1; q < active; ++q) {
    bounds.push_back(set.empty() ? q * static_cast<uint64_t>(unit().numel) / active
                                 : set[q * set.size() / active]);
  }
  return bounds;
}

// Returns the numbers that a worker sends: of its set in each region, of its region's magnitudes to
// be gathered, or of those that it has selected.
std::vector<uint32_t> OkTopKExchange::Numbers(int worker) const {
  const size_t index = IndexOf(worker);
  if (call_ == kCountsCall) {
    std::vector<uint32_t> counts;
    const std::vector<uint32_t>& set = sets_[worker];
    auto from = set.begin();
    for (size_t q = 0; q <= bounds_.size(); ++q) {
      const auto to = std::lower_bound(from, set.end(), Region(q).second);
      counts.push_back(static_cast<uint32_t>(to - from));
      from = to;
    }
    return counts;
  }
  const std::span<const float> sums = RegionSums(index);
  if (call_ == kRegionCountsCall) {
    const auto some = std::ranges::count_if(sums, [](float x) { return x != 0; });
    return {static_cast<uint32_t>(std::min<int64_t>(some, Count()))};
  }
  return {
      static_cast<uint32_t>(std::ranges::count_if(sums, [this](float x) { return Selects(x); }))};
}

Message OkTopKExchange::EncodeParts(int worker) {
  const std::span<const float> e = memory().MutableResidual(worker);
  SparseEntries set{.positions = sets_[worker], .values = {}};
  for (const uint32_t i : set.positions) set.values.push_back(e[i]);
  Message message;
  size_t from = 0;
  for (const uint32_t count : counts_[IndexOf(worker)]) {
    AppendEntries(unit(), call_, set, from, count, message.bytes);
    from += count;
  }
  return message;
}

// Writes the largest magnitudes of a region, the largest first.
Message OkTopKExchange::EncodeMagnitudes(size_t index) const {
  std::vector<float> magnitudes;
  for (const float x : RegionSums(index)) {
    if (x != 0) magnitudes.push_back(std::abs(x));
  }
  std::ranges::sort(magnitudes, std::greater());
  magnitudes.resize(numbers_[index].front());
  Message message = StartMessage(EntriesHeader(unit(), call_, std::ssize(magnitudes), false),
                                 4 * std::ssize(magnitudes));
  AppendFloats(magnitudes, message.bytes);
  return message;
}

SparseEntries OkTopKExchange::SelectedIn(size_t index) const {
  SparseEntries entries;
  const int64_t begin = Region(index).first;
  const std::span<const float> sums = RegionSums(index);
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!Selects(sums[i])) continue;
    entries.positions.push_back(static_cast<uint32_t>(begin + static_cast<int64_t>(i)));
    entries.values.push_back(sums[i]);
  }
  return entries;
}

// Of all selected values in the order of positions, worker i gathers those from i T / N on.
int64_t OkTopKExchange::Moved(size_t from, size_t to) const {
  const auto total = std::accumulate(selected_.begin(), selected_.end(), int64_t{0});
  const auto active = static_cast<int64_t>(selected_.size());
  const auto before = std::accumulate(selected_.begin(),
                                      selected_.begin() + static_cast<int64_t>(from), int64_t{0});
  const auto target = static_cast<int64_t>(to);
  const int64_t begin = std::max(before, target * total / active);
  const int64_t end = std::min(before + selected_[from], (target + 1) * total / active);
  return std::max<int64_t>(0, end - begin);
}

Message OkTopKExchange::EncodeBalance(size_t index) const {
  const SparseEntries own = SelectedIn(index);
  Message message;
  size_t from = 0;
  for (size_t to = 0; to < selected_.size(); ++to) {
    const auto count = static_cast<size_t>(Moved(index, to));
    AppendEntries(unit(), call_, own, from, count, message.bytes);
    from += count;
  }
  return message;
}

std::vector<int64_t> OkTopKExchange::PartBytes(int worker, ByteSpan) const {
  std::vector<int64_t> parts;
  const size_t index = IndexOf(worker);
  for (size_t to = 0; to < static_cast<size_t>(ActiveWorkers()); ++to) {
    if (call_ == kCountsCall) parts.push_back(sizeof(uint32_t));
    if (call_ == kPartsCall) parts.push_back(EntryBytes(unit(), counts_[index][to]));
    if (call_ == kBalanceCall) parts.push_back(EntryBytes(unit(), Moved(index, to)));
  }
  return parts;
}

void OkTopKExchange::Accumulate(int, ByteSpan message) {
  switch (call_) {
    case kBoundsCall:
      AccumulateBounds(message);
      break;
    case kPartsCall:
      AccumulateParts(message);
      break;
    case kMagnitudesCall:
      AccumulateMagnitudes(message);
      break;
    case kBalanceCall:
      AccumulateBalance(message);
      break;
    case kGatherCall:
      AccumulateGathered(message);
      break;
    default:
      AccumulateNumbers(message);
  }
  ++accumulated_;
}

void OkTopKExchange::Mean(std::span<float> out) const {
  const auto active = static_cast<float>(ActiveWorkers());
  for (size_t i = 0; i < out.size(); ++i) out[i] = result_[i] / active;
}

int64_t OkTopKExchange::ElementsSent() const {
  if (call_ != kDone) return Count();
  return (sent_ + ActiveWorkers() / 2) / ActiveWorkers();
}

}  // namespace legacy
