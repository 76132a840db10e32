// What the workers of Ok-Topk receive, and the state that they share.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/schemes/sparse/oktopk_exchange.h"

namespace legacy {
namespace {

constexpr double kLocalFactor = 1.012;
constexpr double kGlobalFactor = 1.008;

double NewThreshold(double threshold, int64_t found, double few, double many, double factor) {
  const auto count = static_cast<double>(found);
  if (count < few) threshold /= factor;
  if (count > many) threshold *= factor;
  return std::clamp(threshold, double{std::numeric_limits<float>::denorm_min()},
                    double{std::numeric_limits<float>::max()});
}

void SaveRegions(float threshold, const std::vector<uint32_t>& bounds, StateWriter& out) {
  out.Real(threshold);
  out.Number(bounds.size());
  for (const uint32_t bound : bounds) out.Number(bound);
}

std::pair<float, std::vector<uint32_t>> LoadRegions(int64_t numel, int workers, StateReader& in) {
  const double threshold = in.Real("threshold");
  if (!(threshold >= 0 && threshold <= double{std::numeric_limits<float>::max()})) {
    throw Error("state: threshold", std::to_string(threshold), "numbers from 0");
  }
  std::vector<uint32_t> bounds(in.Number("bounds", static_cast<uint64_t>(workers) - 1));
  uint64_t before = 0;
  for (uint32_t& bound : bounds) {
    bound = static_cast<uint32_t>(in.Number("bound", static_cast<uint64_t>(numel)));
    if (bound < before) throw Error("state: bounds of regions do not ascend");
    before = bound;
  }
  return {static_cast<float>(threshold), std::move(bounds)};
}

}  // namespace

void OkTopKExchange::AccumulateBounds(ByteSpan message) {
  const auto bounds =
      NumbersOf<uint64_t>(message, bound_sums_.size(), static_cast<uint64_t>(unit().numel));
  for (size_t q = 0; q < bounds.size(); ++q) bound_sums_[q] += bounds[q];
}

void OkTopKExchange::AccumulateNumbers(ByteSpan message) {
  const auto largest = static_cast<uint64_t>(unit().numel);
  if (call_ == kCountsCall) {
    const auto active = static_cast<size_t>(ActiveWorkers());
    counts_.push_back(NumbersOf<uint32_t>(message, active, largest));
    for (size_t q = 0; q < active; ++q) {
      const auto [begin, end] = Region(q);
      if (counts_.back()[q] <= end - begin) continue;
      throw Error("message: values in a region", std::to_string(counts_.back()[q]),
                  "at most " + std::to_string(end - begin));
    }
    return;
  }
  if (call_ == kSelectedCall) {
    selected_.push_back(NumbersOf<uint32_t>(message, 1, largest).front());
    return;
  }
  numbers_.push_back(NumbersOf<uint32_t>(message, 1, static_cast<uint64_t>(Count())));
}

// All parts are checked before any is added.
void OkTopKExchange::AccumulateParts(ByteSpan message) {
  std::vector<SparseEntries> parts;
  for (size_t q = 0; q < counts_.front().size(); ++q) {
    parts.push_back(ReadEntries(unit(), call_, counts_[accumulated_][q], message));
    const std::vector<uint32_t>& positions = parts.back().positions;
    const auto [begin, end] = Region(q);
    if (positions.empty() || (positions.front() >= begin && positions.back() < end)) continue;
    throw Error("message: positions outside of region " + std::to_string(q));
  }
  CheckLength(message, 0);
  for (const SparseEntries& part : parts) {
    for (size_t i = 0; i < part.positions.size(); ++i) sums_[part.positions[i]] += part.values[i];
  }
  const std::vector<uint32_t>& counts = counts_[accumulated_];
  sent_ += std::accumulate(counts.begin(), counts.end(), int64_t{0}) - counts[accumulated_];
}

void OkTopKExchange::AccumulateMagnitudes(ByteSpan message) {
  const int64_t count = numbers_[accumulated_].front();
  const ByteSpan payload = CheckedPayload(message, EntriesHeader(unit(), call_, count, false),
                                          int64_t{sizeof(float)} * count);
  CheckFiniteSegment(payload);
  float before = std::numeric_limits<float>::max();
  for (int64_t i = 0; i < count; ++i) {
    const float magnitude = FloatAt(payload, static_cast<size_t>(i));
    if (!(magnitude > 0 && magnitude <= before)) {
      throw Error("message: magnitudes do not fall, or are not above 0");
    }
    before = magnitude;
    magnitudes_.push_back(magnitude);
  }
}

void OkTopKExchange::AccumulateBalance(ByteSpan message) {
  std::vector<SparseEntries> parts;
  for (size_t to = 0; to < held_.size(); ++to) {
    parts.push_back(ReadEntries(unit(), call_, Moved(accumulated_, to), message));
    const std::vector<uint32_t>& positions = parts.back().positions;
    const std::vector<uint32_t>& held = held_[to].positions;
    if (positions.empty() || held.empty() || held.back() < positions.front()) continue;
    throw Error("message: positions of another worker's region");
  }
  CheckLength(message, 0);
  for (size_t to = 0; to < held_.size(); ++to) {
    SparseEntries& held = held_[to];
    held.positions.insert(held.positions.end(), parts[to].positions.begin(),
                          parts[to].positions.end());
    held.values.insert(held.values.end(), parts[to].values.begin(), parts[to].values.end());
    if (to != accumulated_) sent_ += std::ssize(parts[to].positions);
  }
}

// Values may be at any positions: the sum does not depend on who has gathered them.
void OkTopKExchange::AccumulateGathered(ByteSpan message) {
  const int64_t count =
      balances_ ? std::ssize(held_[accumulated_].positions) : int64_t{selected_[accumulated_]};
  const SparseEntries entries = ReadEntries(unit(), call_, count, message);
  CheckLength(message, 0);
  for (size_t i = 0; i < entries.positions.size(); ++i) {
    result_[entries.positions[i]] += entries.values[i];
  }
  sent_ += count;
}

void OkTopKExchange::FinishCall() {
  assert(accumulated_ == static_cast<size_t>(ActiveWorkers()));
  accumulated_ = 0;
  if (call_ == kBoundsCall) FinishBounds();
  if (call_ == kPartsCall) CheckFinite(sums_, unit().id);  // sums may overflow
  if (call_ == kMagnitudesCall) FinishMagnitudes();
  if (call_ == kSelectedCall) FinishSelected();
  if (call_ == kGatherCall) FinishStep();
  call_ = NextIndex();
}

void OkTopKExchange::FinishBounds() {
  bounds_.clear();
  const auto active = static_cast<uint64_t>(ActiveWorkers());
  for (const uint64_t sum : bound_sums_) {
    const auto bound = static_cast<uint32_t>(sum / active);
    bounds_.push_back(bounds_.empty() ? bound : std::max(bound, bounds_.back()));
  }
}

void OkTopKExchange::FinishMagnitudes() {
  const auto count = static_cast<size_t>(Count());
  if (magnitudes_.empty()) {
    global_ = 0;
    return;
  }
  const size_t last = std::min(count, magnitudes_.size()) - 1;
  std::ranges::nth_element(magnitudes_, magnitudes_.begin() + static_cast<int64_t>(last),
                           std::greater());
  global_ = magnitudes_[last];
}

void OkTopKExchange::FinishSelected() {
  const auto total = std::accumulate(selected_.begin(), selected_.end(), int64_t{0});
  const double most =
      options_.balance * static_cast<double>(total) / static_cast<double>(selected_.size());
  balances_ = selected_.size() > 1 && *std::ranges::max_element(selected_) > most;
  if (balances_) return;
  for (size_t index = 0; index < held_.size(); ++index) held_[index] = SelectedIn(index);
}

// Another process has no residuals and sets of this one's workers.
void OkTopKExchange::FinishStep() {
  const auto count = static_cast<double>(Count());
  for (int i = 0; i < ActiveWorkers(); ++i) {
    const int worker = ActiveWorker(i);
    const std::span<float> residual = memory().MutableResidual(worker);
    double& threshold = StateOf(worker).numbers[0];
    if (residual.empty() || threshold == 0) continue;
    for (const uint32_t p : sets_[worker]) {
      if (result_[p] != 0) residual[p] = 0;
    }
    if (exact_) continue;
    threshold = NewThreshold(threshold, std::ssize(sets_[worker]), 2 * count / 3, 5 * count / 4,
                             kLocalFactor);
  }
  if (exact_) return;
  const auto all = std::accumulate(selected_.begin(), selected_.end(), int64_t{0});
  global_ =
      static_cast<float>(NewThreshold(global_, all, 2 * count / 3, 4 * count / 3, kGlobalFactor));
}

Bytes OkTopKExchange::Save() const {
  StateWriter out;
  out.Blob(ExchangeBase::Save());
  SaveRegions(global_, bounds_, out);
  return out.Take();
}

void OkTopKExchange::Load(ByteSpan state) {
  StateReader in(state);
  const ByteSpan base = in.Blob();
  auto [threshold, bounds] = LoadRegions(unit().numel, workers(), in);
  in.ExpectEnd();
  ExchangeBase::Load(base);
  global_ = threshold;
  bounds_ = std::move(bounds);
}

void OkTopKExchange::SaveShared(StateWriter& out) const {
  ExchangeBase::SaveShared(out);
  SaveRegions(global_, bounds_, out);
}

void OkTopKExchange::LoadShared(StateReader& in) {
  ExchangeBase::LoadShared(in);
  std::tie(global_, bounds_) = LoadRegions(unit().numel, workers(), in);
}

}  // namespace legacy
