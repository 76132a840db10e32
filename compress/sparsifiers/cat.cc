// CAT sends as many of the largest magnitudes as are worth their communication. T maximises
//
//   ||top_T||^2 / ||x||^2 / cost(T),   cost(T) = c0 packets(T) + c1,
//   packets(T) = ceil(T (32 + ceil(log2 n)) / (8 packet))
//
// in any units that c0 (a packet) and c1 (a message) share: seconds, or by default packets, with a
// message that costs as much as 60 of them. Public code divides the payload's bits by a packet's
// bytes; here bits are divided by bits, and packets are whole. Within a packet more values cost
// nothing, so only the ends of packets are tried, up to the first decrease or to the overall
// maximum. Zeros are not sent.
//
// The selection makes three passes of 4 bytes per element: one for the norm, one for a histogram
// that estimates how many of the largest magnitudes will be needed, and one that selects them,
// after which they are sorted. If the histogram's bins estimated too few, there is a fourth pass.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "compress/checks.h"
#include "compress/cpu/histogram.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

struct CatOptions {
  double packet_cost = 1;
  double message_cost = 60;
  int64_t packet_bytes = 1460;
  bool first_decrease = true;
};

// Energies of the largest values, computed as far as requested.
class Front {
 public:
  // `expected` is the number of the largest values that will be requested.
  Front(std::span<const float> values, uint32_t unit, int64_t expected)
      : values_(values), unit_(unit) {
    Extend(expected);
  }
  // Returns ||top_count||^2; count <= values.size().
  double Energy(int64_t count) {
    if (count > static_cast<int64_t>(energy_.size())) Extend(4 * count);
    return count > 0 ? energy_[count - 1] : 0;
  }
  // Returns the `count` largest values without zeros; requires an earlier Energy(count).
  Selection Take(int64_t count) const {
    return Within(largest_, SelectLargest(largest_.values, std::min(count, nonzero_), unit_));
  }

 private:
  void Extend(int64_t count) {
    largest_ = SelectLargest(values_, std::min(count, std::ssize(values_)), unit_);
    std::vector<float> sorted = largest_.values;
    std::ranges::sort(sorted, std::greater<>(), [](float x) { return std::abs(x); });
    energy_.clear();
    nonzero_ = 0;
    double sum = 0;
    for (const float x : sorted) {
      sum += static_cast<double>(x) * x;
      nonzero_ += x != 0;
      energy_.push_back(sum);
    }
  }

  std::span<const float> values_;
  uint32_t unit_;
  Selection largest_;
  std::vector<double> energy_;
  int64_t nonzero_ = 0;
};

class Cat : public Sparsifier {
 public:
  explicit Cat(const CatOptions& options) : options_(options) {}
  std::string_view Name() const override { return "cat"; }
  CodecId Id() const override { return CodecId::kCat; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  WorkList EncodeWork(int64_t numel, const CodecContext&) const override {
    return {{"cat.encode", numel}, TopKSampleWork(numel)};
  }
  Selection Select(std::span<const float> values, int64_t,
                   const CodecContext& context) const override;

 private:
  struct Choice {
    int64_t count = 0;   // count with the largest gain
    int64_t looked = 0;  // the largest count whose energy was requested
  };
  template <class Energy>
  Choice Choose(int64_t numel, double total, Energy energy) const;
  double Cost(int64_t packets) const {
    return options_.packet_cost * static_cast<double>(packets) + options_.message_cost;
  }

  CatOptions options_;
};

// Chooses a count of `numel` values; energy(count) is the energy of the largest, at most `total`.
template <class Energy>
Cat::Choice Cat::Choose(int64_t numel, double total, Energy energy) const {
  const int64_t value_bits = 32 + std::bit_width(static_cast<uint64_t>(numel - 1));
  Choice choice;
  double best = 0;
  for (int64_t packets = 1; choice.looked < numel; ++packets) {
    const int64_t count = std::min(numel, packets * 8 * options_.packet_bytes / value_bits);
    choice.looked = count;
    const double gain = energy(count) / Cost(packets);
    if (gain > best) {
      best = gain;
      choice.count = count;
    } else if (options_.first_decrease && gain < best) {
      break;
    }
    if (total / Cost(packets + 1) <= best) break;  // none of the others can be better
  }
  return choice;
}

Selection Cat::Select(std::span<const float> values, int64_t, const CodecContext& context) const {
  // Adds a margin, because energies within bins are interpolated.
  constexpr double kOfBins = 1.05;
  const auto numel = static_cast<int64_t>(values.size());
  if (numel == 0) return {};
  const double squares = cpu::SquaredNorm(values);
  if (!std::isfinite(squares)) CheckFinite(values, context.unit);
  const double total = squares * (1 + 1e-9);  // an upper bound, whatever the order of sums
  const auto curve = cpu::MagnitudeCurve::Of(values);
  const Choice about =
      Choose(numel, total, [&](int64_t count) { return curve.KeptSquared(count); });
  const auto expected = static_cast<int64_t>(kOfBins * static_cast<double>(about.looked));
  Front front(values, context.unit, expected);
  return front.Take(Choose(numel, total, [&](int64_t k) { return front.Energy(k); }).count);
}

}  // namespace

SparsifierRow CatRow() {
  return {{.name = "cat",
           .help = "sends as many of the largest magnitudes as maximise energy divided by "
                   "communication cost",
           .paper = "Khirirat et al., A Flexible Framework for Communication-Efficient Machine "
                    "Learning, AAAI 2021",
           .options =
               {{"c0", "1", "0 to 1e12", "communication cost of a packet"},
                {"c1", "60", "1e-12 to 1e12", "communication cost of a message, in the unit of c0"},
                {"packet", "1460", "64 to 65535", "payload of a packet, in bytes"},
                {"stop", "first", "first, maximum",
                 "end of the search: at the first decrease, or after all counts (the maximum)"}}},
          [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
            constexpr std::string_view kStops[] = {"first", "maximum"};
            constexpr double kMost = 1e12;
            return std::make_unique<Cat>(
                CatOptions{.packet_cost = options.Number("c0", 0, kMost),
                           .message_cost = options.Number("c1", 1e-12, kMost),
                           .packet_bytes = options.Integer("packet", 64, 65535),
                           .first_decrease = options.Choice("stop", kStops) == 0});
          }};
}

}  // namespace legacy
