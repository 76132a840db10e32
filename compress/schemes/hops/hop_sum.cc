#include "compress/schemes/hops/hop_sum.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "compress/cpu/vector.h"

namespace legacy {
namespace {

// One piece of a butterfly, on its way to the worker that keeps it.
class Butterfly {
 public:
  Butterfly(const HopCoder& coder, std::span<const std::span<const float>> own, int piece,
            int pieces, HopRange range)
      : coder_(coder),
        own_(own),
        piece_(piece),
        pieces_(pieces),
        range_(range),
        levels_(std::countr_zero(static_cast<unsigned>(pieces))) {}

  std::vector<float> Sum() const { return Partial(piece_, levels_); }

 private:
  // Returns the sum that a worker has after its first `level` halvings.
  std::vector<float> Partial(int worker, int level) const {
    if (level == 0) return Folded(worker);
    std::vector<float> sum = Received(worker ^ pieces_ >> level, level - 1);
    cpu::Add(Partial(worker, level - 1), sum);
    return sum;
  }
  // Returns what others decode of it.
  std::vector<float> Received(int worker, int level) const {
    std::vector<float> values(range_.size());
    if (level == 0 && worker + pieces_ >= static_cast<int>(own_.size())) {
      coder_.Own(worker, range_, values);
      return values;
    }
    coder_.Decode(coder_.Encode(worker, piece_, range_, Partial(worker, level)), range_, values);
    return values;
  }
  // Returns the worker's own values, with those of the worker that gave it its own.
  std::vector<float> Folded(int worker) const {
    const auto values = own_[worker].subspan(range_.begin, range_.size());
    std::vector<float> sum(values.begin(), values.end());
    if (const int folded = worker + pieces_; folded < static_cast<int>(own_.size())) {
      std::vector<float> received(range_.size());
      coder_.Own(folded, range_, received);
      cpu::Add(received, sum);
    }
    return sum;
  }

  const HopCoder& coder_;
  std::span<const std::span<const float>> own_;
  int piece_;
  int pieces_;
  HopRange range_;
  int levels_;
};

// Returns the sum of a piece that goes round the ring from worker `first` on, as the last worker
// has it.
std::vector<float> SumAlongRing(const HopCoder& coder, std::span<const std::span<const float>> own,
                                int first, int piece, HopRange range) {
  const auto workers = static_cast<int>(own.size());
  const auto values = [&](int worker) { return own[worker].subspan(range.begin, range.size()); };
  std::vector<float> partial(values(first).begin(), values(first).end());
  if (workers > 1) coder.Own(first, range, partial);
  for (int hop = 1; hop < workers; ++hop) {
    const int worker = (first + hop) % workers;
    cpu::Add(values(worker), partial);
    if (hop + 1 == workers) break;
    coder.Decode(coder.Encode(worker, piece, range, partial), range, partial);
  }
  return partial;
}

// Returns the bytes of the largest message.
int64_t LargestMessage(HopOrder order, const HopCoder& coder, std::span<const HopRange> pieces,
                       int workers) {
  if (order == HopOrder::kRing) return coder.PayloadBytes(pieces[0]);
  const bool folds = std::ssize(pieces) < workers;
  const size_t last = folds ? pieces.size() : std::max<size_t>(1, pieces.size() / 2);
  int64_t bytes = 0;
  for (size_t p = 0; p < last; ++p) bytes += coder.PayloadBytes(pieces[p]);
  return bytes;
}

}  // namespace

int HopPieces(HopOrder order, int workers) {
  return order == HopOrder::kRing
             ? workers
             : static_cast<int>(std::bit_floor(static_cast<unsigned>(workers)));
}

std::vector<HopRange> HopRanges(int64_t numel, int64_t block, int pieces) {
  const int64_t blocks = (numel + block - 1) / block;
  std::vector<HopRange> ranges;
  for (int64_t p = 0, at = 0; p < pieces; ++p) {
    const int64_t begin = std::min(numel, at * block);
    at += blocks / pieces + (p < blocks % pieces ? 1 : 0);
    ranges.push_back({begin, std::min(numel, at * block)});
  }
  return ranges;
}

HopRange FirstHop(HopOrder order, int worker, int workers, std::span<const HopRange> pieces) {
  const auto count = static_cast<int>(pieces.size());
  if (order == HopOrder::kRing) return pieces[worker];
  const HopRange all = {0, pieces.back().end};
  if (worker >= count || count == 1) return worker + count < workers ? HopRange{} : all;
  if (worker + count < workers) return {};
  const int64_t middle = pieces[count / 2].begin;
  return worker < count / 2 ? HopRange{middle, all.end} : HopRange{0, middle};
}

std::vector<Bytes> ReduceByHops(HopOrder order, const HopCoder& coder,
                                std::span<const std::span<const float>> own,
                                std::span<const HopRange> pieces) {
  const auto count = static_cast<int>(pieces.size());
  assert(count == HopPieces(order, static_cast<int>(own.size())));
  std::vector<Bytes> payloads(pieces.size());
  for (int p = 0; p < count; ++p) {
    if (pieces[p].size() == 0) continue;
    const bool ring = order == HopOrder::kRing;
    const std::vector<float> sum = ring ? SumAlongRing(coder, own, p, p, pieces[p])
                                        : Butterfly(coder, own, p, count, pieces[p]).Sum();
    payloads[p] = coder.Encode(ring ? (p + count - 1) % count : p, p, pieces[p], sum);
  }
  return payloads;
}

std::vector<float> SumOfOwner(HopOrder order, const HopCoder& coder,
                              std::span<const std::span<const float>> own, int owner) {
  const auto workers = static_cast<int>(own.size());
  const HopRange all = {0, std::ssize(own[owner])};
  if (order == HopOrder::kRing) {
    return SumAlongRing(coder, own, (owner + 1) % workers, owner, all);
  }
  assert(HopPieces(order, workers) == workers);
  return Butterfly(coder, own, owner, workers, all).Sum();
}

bool SendsOwnFirst(HopOrder order, int worker, int owner, int workers) {
  if (order == HopOrder::kRing) return workers > 1 && worker == (owner + 1) % workers;
  return ((worker ^ owner) & workers / 2) != 0;
}

void GatherPieces(const HopCoder& coder, std::span<const HopRange> pieces,
                  std::span<const Bytes> payloads, std::span<float> sum) {
  for (size_t p = 0; p < pieces.size(); ++p) {
    if (pieces[p].size() == 0) continue;
    coder.Decode(payloads[p], pieces[p], sum.subspan(pieces[p].begin, pieces[p].size()));
  }
}

Hops HopsOf(HopOrder order, const HopCoder& coder, std::span<const HopRange> pieces, int workers,
            int64_t slice, int64_t header, WorkList work) {
  const int64_t largest = LargestMessage(order, coder, pieces, workers);
  const auto slices = static_cast<int>(std::max<int64_t>(1, (largest + slice - 1) / slice));
  Hops hops = {.order = order, .slices = {}, .work = std::move(work)};
  for (int s = 0; s < slices; ++s) {
    HopSlice& own = hops.slices.emplace_back();
    for (const HopRange& piece : pieces) {
      HopRange part = HopRanges(piece.size(), coder.Block(), slices)[s];
      part = {piece.begin + part.begin, piece.begin + part.end};
      own.payload.push_back(part.size() > 0 ? coder.PayloadBytes(part) : 0);
      own.headers.push_back(part.size() > 0 ? header : 0);
    }
  }
  return hops;
}

const OptionSpec& SliceOption() {
  static const OptionSpec option = {"slice", "8388608", "1024 to 1073741824",
                                    "most bytes of a message of sums by hops (reduction=ring, "
                                    "reduction=butterfly); longer pieces "
                                    "are cut, and hops of one part overlap the transfer of others"};
  return option;
}

int64_t ReadSlice(const OptionReader& options) {
  return options.Integer(SliceOption().name, 1 << 10, 1 << 30);
}

}  // namespace legacy
