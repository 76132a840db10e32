// Sums by hops that end with the owners of slices.
#include "compress/schemes/owners/owned_hops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/schemes/hops/hop_sum.h"
#include "tests/compress/quantisers/quantiser_data.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::owned_hops_test {
namespace {

using Values = std::vector<float>;

std::vector<Values> Gradients(int workers, int64_t numel, uint64_t seed = 1) {
  std::vector<Values> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(numel, seed * 1000 + w));
  return gradients;
}

Unit Matrix(int64_t rows, int64_t columns) {
  Unit unit = test::MakeUnit(rows * columns, 1);
  unit.shape = {rows, columns};
  return unit;
}

Values MeanOf(const std::string& text, const Unit& unit, const std::vector<Values>& gradients) {
  const auto exchange = MakeScheme(text)->Open(unit, static_cast<int>(gradients.size()));
  return test::RunStep(*exchange, {.info = {.seed = 7}, .parameter = 4}, gradients);
}

Values Rounded(const std::string& quantiser, const Values& values) {
  return test::RoundTrip(*test::QuantiserOf(quantiser), values, 0);
}

// Returns what `worker` has of a slice after it has heard of the workers below `distance` away, by
// the definition of recursive halving.
Values Halved(const std::string& quantiser, const std::vector<Values>& own, size_t worker,
              size_t distance) {
  if (distance == own.size()) return own[worker];
  Values sum = Rounded(quantiser, Halved(quantiser, own, worker ^ distance, 2 * distance));
  const Values mine = Halved(quantiser, own, worker, 2 * distance);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += mine[i];
  return sum;
}

// Returns the sum that the owner of a slice has: what a worker sends is rounded, nothing else is.
Values SlowSum(const std::string& quantiser, bool ring, const std::vector<Values>& own,
               size_t owner) {
  if (!ring) return Halved(quantiser, own, owner, 1);
  Values sum;
  for (size_t hop = 1; hop <= own.size(); ++hop) {
    const Values& mine = own[(owner + hop) % own.size()];
    if (hop > 1) sum = Rounded(quantiser, sum);
    sum.resize(mine.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = hop > 1 ? sum[i] + mine[i] : mine[i];
  }
  return sum;
}

std::string With(const std::string& codec, const std::string& options) {
  return codec + (codec.find(':') == codec.npos ? ":" : ",") + options;
}

// Slices have blocks of their own, whatever their sizes; two copies of the model have a sum each.
TEST(OwnedHops, EndWithTheOwnerWhoAddsLast) {
  for (const std::string codec : {"mx", "mx:format=e2m1", "mx:format=e5m2,block=64"}) {
    for (const auto& [workers, owners] :
         {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {8, 8}, {4, 2}, {9, 3}}) {
      for (const bool ring : {true, false}) {
        if (!ring && (owners & (owners - 1)) != 0) continue;
        for (const bool rows : {true, false}) {
          const Unit unit = Matrix(10, 33);
          const auto gradients = Gradients(workers, unit.numel);
          const Values mean = MeanOf(
              With(codec, std::string("reduction=") + (ring ? "ring" : "butterfly") +
                              ",owners=" + std::to_string(owners) + (rows ? "" : ",cut=values")),
              unit, gradients);
          Values wanted;
          for (const Unit& slice : CutUnit(unit, {owners, rows})) {
            const size_t owner = wanted.size() / (CutUnit(unit, {owners, rows}).front().numel);
            Values sum;
            for (int first = 0; first < workers; first += owners) {
              std::vector<Values> own;
              for (int w = first; w < first + owners; ++w) {
                const auto begin = gradients[w].begin() + (slice.offset - unit.offset);
                own.emplace_back(begin, begin + slice.numel);
              }
              const Values copy = SlowSum(codec, ring, own, owner);
              sum.resize(copy.size());
              for (size_t i = 0; i < copy.size(); ++i) sum[i] = first ? sum[i] + copy[i] : copy[i];
            }
            for (const float x : sum) wanted.push_back(x / static_cast<float>(workers));
          }
          // A division may round otherwise than a product.
          for (size_t i = 0; i < wanted.size(); ++i) {
            ASSERT_FLOAT_EQ(mean[i], wanted[i]) << codec << workers << owners << ring << rows << i;
          }
        }
      }
    }
  }
}

// Without owners the last worker encodes the sum once more, for all: that is the only difference.
// Piece p of the ring without owners begins with worker p, and with owners with worker p + 1.
TEST(OwnedHops, AreThoseWithoutOwnersBeforeTheLastEncoding) {
  for (const int workers : {2, 4, 8}) {
    const Unit unit = Matrix(64, workers);
    const auto gradients = Gradients(workers, unit.numel);
    auto rotated = gradients;
    std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());
    for (const std::string codec : {"mx:format=e2m1", "mx", "mx:format=e2m3"}) {
      for (const bool ring : {true, false}) {
        const std::string text = With(codec, ring ? "reduction=ring" : "reduction=butterfly");
        Values sum =
            MeanOf(text + ",cut=values,owners=" + std::to_string(workers), unit, gradients);
        for (float& x : sum) x *= static_cast<float>(workers);
        Values whole = MeanOf(text, unit, ring ? rotated : gradients);
        for (float& x : whole) x *= static_cast<float>(workers);
        EXPECT_TRUE(test::SameBits(Rounded(codec, sum), whole)) << text << workers;
        EXPECT_FALSE(test::SameBits(sum, whole));
      }
    }
  }
}

// Returns the squared error of the mean, relative to the mean's energy.
double RelativeError(const Values& mean, const std::vector<Values>& gradients) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    double exact = 0;
    for (const Values& gradient : gradients) exact += gradient[i];
    exact /= static_cast<double>(gradients.size());
    error += (exact - mean[i]) * (exact - mean[i]);
    energy += exact * exact;
  }
  return error / energy;
}

// One encoding has the error q. A ring of N independent gradients has q (N-1)/2, recursive halving
// q log2(N)/2, and messages to the owner have q, whatever N.
TEST(OwnedHops, ErrorsGrowWithTheHops) {
  const Unit unit = Matrix(128, 128);
  for (const std::string format : {"e2m1", "e5m2", "e4m3,scale=up"}) {
    const std::string codec = "mx:format=" + format;
    const auto one = Gradients(1, unit.numel);
    const double once = RelativeError(MeanOf(codec, unit, one), one);
    for (const int workers : {2, 3, 4, 8, 16, 32}) {
      const auto gradients = Gradients(workers, unit.numel);
      const auto error = [&](const std::string& options) {
        const std::string text = codec + ",owners=" + std::to_string(workers) + options;
        return RelativeError(MeanOf(text, unit, gradients), gradients) / once;
      };
      const double ring = (workers - 1) / 2.0;
      EXPECT_NEAR(error(",reduction=ring"), ring, 0.15 * ring) << format << " " << workers;
      EXPECT_NEAR(error(",decay=0"), 1, 0.05) << format << " " << workers;
      if ((workers & (workers - 1)) != 0) continue;
      const double halving = std::log2(workers) / 2;
      EXPECT_NEAR(error(",reduction=butterfly"), halving, 0.15 * halving) << format << workers;
    }
  }
}

// Rounds values to themselves, and counts the values that each worker encodes and decodes.
class Counting : public HopCoder {
 public:
  explicit Counting(std::vector<std::span<const float>> own) : own_(std::move(own)) {}
  int64_t Block() const override { return 1; }
  int64_t PayloadBytes(HopRange range) const override { return range.size(); }
  void Own(int worker, HopRange range, std::span<float> values) const override {
    first[worker] += range.size();
    std::ranges::copy(own_[worker].subspan(range.begin, range.size()), values.begin());
  }
  Bytes Encode(int worker, int, HopRange range, std::span<const float> sums) const override {
    encoded[worker] += range.size();
    const auto bytes = std::as_bytes(sums);
    return {bytes.begin(), bytes.end()};
  }
  void Decode(ByteSpan payload, HopRange, std::span<float> sums) const override {
    std::memcpy(sums.data(), payload.data(), payload.size());
  }
  mutable std::map<int, int64_t> first, encoded;

 private:
  std::vector<std::span<const float>> own_;
};

// What workers encode in all slices is what is charged: one slice first, and S - 2 hops; halves of
// what is left in recursive halving.
TEST(OwnedHops, EncodeWhatIsCharged) {
  constexpr int kOwners = 8;
  constexpr int64_t kSlice = 64;
  const auto gradients = Gradients(kOwners, kSlice);
  const Unit unit = Matrix(kOwners, kSlice);
  for (const bool ring : {true, false}) {
    const Counting coder({gradients.begin(), gradients.end()});
    const std::vector<std::span<const float>> own(gradients.begin(), gradients.end());
    const HopOrder order = ring ? HopOrder::kRing : HopOrder::kButterfly;
    std::map<int, int64_t> first;
    for (int owner = 0; owner < kOwners; ++owner) {
      SumOfOwner(order, coder, own, owner);
      for (int w = 0; w < kOwners; ++w) {
        if (SendsOwnFirst(order, w, owner, kOwners)) first[w] += kSlice;
      }
    }
    const auto scheme =
        MakeScheme(std::string("mx:reduction=") + (ring ? "ring" : "butterfly") + ",owners=8");
    const CollectiveCall call = scheme->Plan(unit, 0, kOwners)->front().call;
    EXPECT_EQ(call.encode.front().kernel, "mx.encode");
    EXPECT_EQ(call.decode.front().kernel, "mx.decode");
    EXPECT_EQ(call.decode.front().elements, kSlice) << "the owner's last hop";
    EXPECT_EQ(call.hops->work.front().kernel, "mx.hop");
    EXPECT_EQ(call.hops->work.front().elements, kOwners * kSlice) << "one hop of all slices";
    for (int w = 0; w < kOwners; ++w) {
      EXPECT_EQ(first[w], ring ? kSlice : kOwners / 2 * kSlice);
      EXPECT_EQ(call.encode.front().elements, first[w]);
      EXPECT_EQ(coder.first.at(w), first[w]) << ring;
      EXPECT_EQ(coder.encoded.at(w), (ring ? kOwners - 2 : kOwners / 4 + kOwners / 8) * kSlice);
    }
  }
}

// Messages to owners are those of slices, with a header each; parts are cut at blocks.
TEST(OwnedHops, SendTheBytesOfSlices) {
  const Unit unit = Matrix(7, 640);  // slices of 2, 2, 2 and 1 rows
  const auto plan = [&](const std::string& options) {
    return MakeScheme("mx:owners=4," + options)->Plan(unit, 0, 4)->front();
  };
  const PlannedCall ring = plan("reduction=ring");
  const int64_t two = 1280 / 32 * 33, one = two / 2;
  EXPECT_EQ(ring.call.reduction, Reduction::kOwned);
  EXPECT_EQ(ring.call.owned->bytes, (std::vector<int64_t>{two + 20, two + 20, two + 20, one + 20}));
  EXPECT_EQ(ring.bytes, 3 * two + one + 80);
  ASSERT_EQ(ring.call.hops->slices.size(), 1U);
  EXPECT_EQ(ring.call.hops->slices[0].payload, (std::vector<int64_t>{two, two, two, one}));
  EXPECT_EQ(ring.call.hops->slices[0].headers, (std::vector<int64_t>{20, 20, 20, 20}));
  EXPECT_EQ(plan("reduction=ring,slice=1024").call.hops->slices.size(), 2U);
  EXPECT_EQ(plan("reduction=butterfly,slice=1024").call.hops->slices.size(), 3U)
      << "halves are messages";
  // The exchange sends what is planned.
  const auto exchange = MakeScheme("mx:reduction=ring,owners=4")->Open(unit, 4);
  exchange->Begin({.info = {.seed = 7}, .parameter = 0});
  const auto call = exchange->NextCall();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->owned, ring.call.owned);
  EXPECT_EQ(call->hops->slices, ring.call.hops->slices);
  EXPECT_EQ(exchange->Encode(2, test::Normals(unit.numel, 1)).size(), ring.bytes);
  // A vector of three values has three owners.
  const Unit few = test::MakeUnit(3, 0);
  EXPECT_EQ(MakeScheme("mx:owners=4,reduction=ring")->Plan(few, 0, 4)->front().call.owned->bytes,
            (std::vector<int64_t>{22, 22, 22, 0}));
  // What is sent whole has no hops.
  const auto whole = MakeScheme("mx:owners=4,reduction=ring,vectors=off");
  EXPECT_FALSE(whole->Plan(few, 0, 4)->front().call.hops);
  EXPECT_TRUE(whole->Plan(unit, 0, 4)->front().call.hops);
  const auto gradients = Gradients(4, 3);
  EXPECT_EQ(MeanOf("mx:owners=4,reduction=ring,vectors=off", few, gradients),
            MeanOf("dense", few, gradients));
}

// Residuals are those of the values that a worker sends first; by default there are none.
TEST(OwnedHops, KeepWhatTheFirstMessageLeaves) {
  const Unit unit = Matrix(4, 96);
  const auto gradients = Gradients(4, unit.numel);
  for (const bool ring : {true, false}) {
    const std::string text = std::string("mx:format=e2m1,owners=4,reduction=") +
                             (ring ? "ring" : "butterfly") + ",feedback=first";
    const auto exchange = MakeScheme(text)->Open(unit, 4);
    test::RunStep(*exchange, {.info = {.seed = 7}, .parameter = 0}, gradients);
    for (int w = 0; w < 4; ++w) {
      for (int owner = 0; owner < 4; ++owner) {
        const Values own(gradients[w].begin() + 96 * owner,
                         gradients[w].begin() + 96 * (owner + 1));
        const Values rounded = Rounded("mx:format=e2m1", own);
        const bool sends = ring ? w == (owner + 1) % 4 : w / 2 != owner / 2;
        for (int i = 0; i < 96; ++i) {
          ASSERT_EQ(exchange->Residual(w)[96 * owner + i], sends ? own[i] - rounded[i] : 0);
        }
      }
    }
  }
  const auto scheme = MakeScheme("mx:reduction=ring,owners=4");
  EXPECT_FALSE(scheme->UsesErrorFeedback(0));
  EXPECT_EQ(scheme->Traits().owners, 4);
}

// Draws of workers, slices and copies differ, so that the mean over steps is that of the gradients.
TEST(OwnedHops, OfUnbiasedQuantisersAreUnbiased) {
  const Unit unit = Matrix(2, 64);
  const auto gradients = Gradients(4, unit.numel);
  const auto exchange = MakeScheme("qsgd:bucket=64,reduction=ring,owners=2")->Open(unit, 4);
  constexpr int64_t kSteps = 2000;
  std::vector<double> sums(unit.numel), squares(unit.numel);
  for (int64_t step = 0; step < kSteps; ++step) {
    const Values mean =
        test::RunStep(*exchange, {.info = {.seed = 7, .step = step}, .parameter = 4}, gradients);
    for (size_t i = 0; i < mean.size(); ++i) {
      double error = mean[i];
      for (const Values& gradient : gradients) error -= gradient[i] / 4.0;
      sums[i] += error;
      squares[i] += error * error;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(sums[i] / kSteps, 0, 5 * std::sqrt(squares[i] / kSteps / kSteps)) << i;
  }
}

TEST(OwnedHops, RefuseWhatHasNoHops) {
  const auto complaint = [](const std::string& text) {
    return MessageOf([&] { MakeScheme(text); });
  };
  EXPECT_NE(complaint("mx:reduction=butterfly,owners=6").find("got '6'; allowed: a power of two"),
            std::string::npos);
  EXPECT_NE(complaint("mx:reduction=ring,owners=4,node=2").find("reduction=gather with nodes"),
            std::string::npos);
  EXPECT_NE(complaint("mx:reduction=ring,owners=4,select=unit").find("sums by hops select nothing"),
            std::string::npos);
  EXPECT_NE(complaint("mx:reduction=ring,owners=4,dense_start=2").find("option owners of mx"),
            std::string::npos);
  const auto scheme = MakeScheme("mx:reduction=ring,owners=4");
  EXPECT_NE(MessageOf([&] { scheme->Open(Matrix(8, 8), 6); }).find("a divisor of the 6 workers"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::owned_hops_test
