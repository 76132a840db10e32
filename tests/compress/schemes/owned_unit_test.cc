// Selections from whole units, of which owners get their parts.
#include "compress/schemes/owners/owned_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/state.h"
#include "compress/exchange.h"
#include "compress/schemes/owners/owned_slices.h"
#include "tests/compress/test_data.h"
#include "tests/message_of.h"

namespace legacy::owned_unit_test {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kRows = 10, kColumns = 60, kNumel = kRows * kColumns;
constexpr int64_t kHeader = 16;

Unit Matrix(int64_t rows = kRows, int64_t columns = kColumns) {
  Unit unit = test::MakeUnit(rows * columns, 1);
  unit.shape = {rows, columns};
  return unit;
}

// The values of the first rows are larger, so that their owners get more.
std::vector<std::vector<float>> Gradients(int64_t step, int64_t numel = kNumel) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) {
    std::vector<float>& values = gradients.emplace_back(test::Normals(numel, 100 * step + w));
    for (int64_t i = 0; i < numel; ++i) values[i] /= 1 + static_cast<float>(i) / 200;
  }
  return gradients;
}

UnitStep StepOf(int64_t step, double parameter) {
  return {.info = {.seed = 7, .step = step}, .parameter = parameter};
}

// Adds options to the first stage of a scheme.
std::string With(const std::string& text, const std::string& options) {
  const size_t plus = text.find('+');
  const std::string first = text.substr(0, plus);
  return first + (first.find(':') == std::string::npos ? ":" : ",") + options +
         (plus == std::string::npos ? "" : text.substr(plus));
}

struct Case {
  const char* text;
  std::vector<double> parameters;  // of successive steps
};

// Everything that a worker selects, keeps and learns is what it is without owners.
TEST(OwnedUnit, IsTheSchemeWithoutOwners) {
  const std::vector<Case> cases = {{"topk", {0.05, 0.01, 1, 0.9}},
                                   {"topk+bf16", {0.05, 0.01, 1}},
                                   {"topk:index=delta+fp16", {0.05}},
                                   {"topk:index=u32,memory=loco,reset_every=3", {0.05}},
                                   {"topk:decay=0.5,memory=momentum", {0.05}},
                                   {"topk:storage=int8", {0.05}},
                                   {"threshold", {0.5, 1e5, 1e-12}},
                                   {"sidco", {0.05}},
                                   {"gaussian", {0.05}},
                                   {"sampled", {0.05}},
                                   {"dgc", {0.05, 1}},
                                   {"randomk", {0.05, 0.5}},
                                   {"randomk:seed=worker", {0.05}},
                                   {"adacomp", {1}},
                                   {"cat", {1}},
                                   {"redsync:small=0", {0.05}},
                                   {"redsync", {0.05}},
                                   {"variance", {1.5}},
                                   {"topk:min_numel=601", {0.05}}};
  for (const Unit& unit : {Matrix(), Matrix(3, 200), test::MakeUnit(kNumel, 1)}) {
    for (const char* cut : {"owners=4", "owners=2,cut=values", "owners=1"}) {
      for (const Case& one : cases) {
        const std::string text = With(one.text, std::string(cut) + ",select=unit");
        const auto owned = MakeScheme(text)->Open(unit, kWorkers),
                   plain = MakeScheme(one.text)->Open(unit, kWorkers);
        for (int64_t step = 0; step < 6; ++step) {
          const double parameter = one.parameters[step % one.parameters.size()];
          const auto gradients = Gradients(step);
          const auto mean = test::RunStep(*owned, StepOf(step, parameter), gradients);
          ASSERT_TRUE(
              test::SameBits(mean, test::RunStep(*plain, StepOf(step, parameter), gradients)))
              << text << " step " << step;
          ASSERT_EQ(owned->ElementsSent(), plain->ElementsSent()) << text;
          for (int w = 0; w < kWorkers; ++w) {
            const std::span<const float> residual = owned->Residual(w);
            const std::vector<float> own(residual.begin(), residual.end());
            ASSERT_TRUE(test::SameBits(own, plain->Residual(w))) << text << " step " << step;
          }
        }
      }
    }
  }
}

// Sends one step of a worker's parts, and returns its calls with the bytes that were sent.
std::vector<SentCall> SentBy(Exchange& exchange, double parameter,
                             const std::vector<std::vector<float>>& gradients) {
  std::vector<SentCall> calls;
  const std::vector<int> all = {0, 1, 2, 3};
  exchange.Begin(StepOf(0, parameter));
  while (const auto call = exchange.NextCall()) {
    EXPECT_EQ(call->reduction, Reduction::kOwned);
    EXPECT_EQ(call->collective, Collective::kAllToAll);
    SentCall& sent = calls.emplace_back(Unsent(*call, kWorkers));
    std::vector<Message> messages;
    for (int w = 0; w < kWorkers; ++w) {
      messages.push_back(exchange.Encode(
          w, calls.size() == 1 ? std::span<const float>(gradients[w]) : std::span<const float>()));
    }
    for (int w = 0; w < kWorkers; ++w) {
      SetSent(w, messages[w].size(), exchange.PartBytes(w, messages[w].bytes), all, sent);
      exchange.Accumulate(w, messages[w].bytes);
    }
    exchange.FinishCall();
  }
  return calls;
}

// Counts a part by itself: a header, the shortest positions, and 4 bytes a value.
int64_t PartBytes(int64_t numel, int64_t count) {
  if (count == numel) return kHeader + 4 * count;
  const auto bits = static_cast<int64_t>(std::ceil(std::log2(static_cast<double>(numel))));
  return kHeader + std::min({2 * count, (numel + 7) / 8, (count * bits + 7) / 8}) + 4 * count;
}

TEST(OwnedUnit, SendsTheBytesOfASecondCount) {
  const auto gradients = Gradients(1);
  for (const double density : {0.05, 0.002, 0.3}) {
    const auto exchange = MakeScheme("topk:owners=4,select=unit")->Open(Matrix(), kWorkers);
    const auto calls = SentBy(*exchange, density, gradients);
    ASSERT_EQ(calls.size(), 2U);
    const std::vector<int64_t> slices = {180, 180, 180, 60};
    std::vector<int64_t> values(4);
    for (int w = 0; w < kWorkers; ++w) {
      EXPECT_EQ(calls[0].bytes[w], 4 * 4) << "a length for each owner";
      std::vector<int64_t> counts(4);
      for (const uint32_t i :
           test::SortedTopK(gradients[w], static_cast<int64_t>(density * kNumel))) {
        ++counts[i / 180];
        ++values[i / 180];
      }
      int64_t sum = 0;
      for (int owner = 0; owner < 4; ++owner) {
        const int64_t bytes = PartBytes(slices[owner], counts[owner]);
        EXPECT_EQ(calls[1].pair_bytes[w * kWorkers + owner], bytes) << w << " " << owner;
        sum += bytes;
      }
      EXPECT_EQ(calls[1].bytes[w], sum);
    }
    // The owner who gets most is charged.
    const auto decode = std::ranges::find(calls[1].decode, "sparse.decode", &Work::kernel);
    ASSERT_NE(decode, calls[1].decode.end());
    EXPECT_EQ(decode->elements, *std::ranges::max_element(values));
  }
}

// Lengths are known, and are not announced, if all is sent or positions are drawn by all.
TEST(OwnedUnit, AnnouncesOnlyWhatIsNotKnown) {
  const auto gradients = Gradients(1);
  const auto whole = MakeScheme("topk:owners=4,select=unit");
  auto calls = SentBy(*whole->Open(Matrix(), kWorkers), 1, gradients);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].owned->bytes, (std::vector<int64_t>{16 + 720, 16 + 720, 16 + 720, 16 + 240}));
  EXPECT_TRUE(calls[0].pair_bytes.empty());
  const auto plan = whole->Plan(Matrix(), 1, kWorkers);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->front().call.owned, calls[0].owned);
  EXPECT_EQ(plan->front().bytes, calls[0].bytes[0]);
  EXPECT_FALSE(whole->Plan(Matrix(), 0.05, kWorkers));
  EXPECT_EQ(whole->ExpectedCalls(Matrix(), 0.05, kWorkers, {})->size(), 2U);

  const auto drawn = MakeScheme("randomk:owners=4,select=unit");
  calls = SentBy(*drawn->Open(Matrix(), kWorkers), 0.05, gradients);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(std::accumulate(calls[0].owned->bytes.begin(), calls[0].owned->bytes.end(), int64_t{0}),
            4 * 16 + 4 * 30);
  EXPECT_EQ(calls[0].bytes[3], drawn->MessageBytes(Matrix(), 0.05));
}

// Where nothing is selected in a slice, its owner gets a header alone; owners without rows get
// nothing.
TEST(OwnedUnit, SendsEmptyParts) {
  std::vector<std::vector<float>> gradients(kWorkers, std::vector<float>(kNumel));
  for (int w = 0; w < kWorkers; ++w) gradients[w][w] = 1;
  const auto exchange = MakeScheme("topk:owners=4,select=unit")->Open(Matrix(3, 200), kWorkers);
  const auto calls = SentBy(*exchange, 1.0 / kNumel, gradients);
  ASSERT_EQ(calls.size(), 2U);
  for (int w = 0; w < kWorkers; ++w) {
    const auto part = [&](int owner) { return calls[1].pair_bytes[w * kWorkers + owner]; };
    EXPECT_EQ(calls[0].bytes[w], 3 * 4);
    EXPECT_EQ(part(0), kHeader + 1 + 4);
    EXPECT_EQ(part(1), kHeader);
    EXPECT_EQ(part(2), kHeader);
    EXPECT_EQ(part(3), 0);
  }
  std::vector<float> mean(kNumel);
  exchange->Mean(mean);
  for (int64_t i = 0; i < kNumel; ++i) EXPECT_EQ(mean[i], i < kWorkers ? 0.25f : 0.0f) << i;
}

// Other bytes than an encoder's are refused, or decode to finite numbers.
TEST(OwnedUnit, RefusesCorruptBytes) {
  const Unit unit = Matrix(4, 20);
  const auto gradients = Gradients(2, unit.numel);
  const auto refuses = [&](size_t of_call, const auto& change) {
    const auto exchange = MakeScheme("topk:owners=2,select=unit,index=u32")->Open(unit, kWorkers);
    exchange->Begin(StepOf(0, 9.0 / 80));
    for (size_t call = 0; exchange->NextCall(); ++call) {
      std::vector<Message> messages;
      for (int w = 0; w < kWorkers; ++w) {
        messages.push_back(exchange->Encode(
            w, call == 0 ? std::span<const float>(gradients[w]) : std::span<const float>()));
      }
      if (call == of_call) {
        change(messages[0].bytes);
        return MessageOf([&] { exchange->Accumulate(0, messages[0].bytes); });
      }
      for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, messages[w].bytes);
      exchange->FinishCall();
    }
    return std::string();
  };
  EXPECT_NE(refuses(0, [](Bytes& bytes) { bytes.pop_back(); }), "");
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes.pop_back(); }), "");
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes.push_back({}); }), "");
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes[0] = std::byte{0}; }), "") << "magic number";
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes[4] = std::byte{9}; }), "") << "another unit";
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes[12] = std::byte{1}; }), "") << "fewer values";
  EXPECT_NE(refuses(1, [](Bytes& bytes) { bytes[16] = std::byte{0xFF}; }), "") << "a position";
  const auto not_finite = [](Bytes& bytes) {
    bytes[bytes.size() - 1] = std::byte{0x7F};
    bytes[bytes.size() - 2] = std::byte{0xC0};
  };
  EXPECT_NE(refuses(1, not_finite).find("not a finite number"), std::string::npos);
  // Of nine values, one owner gets more than the other. Parts that are exchanged have other lengths
  // than they were announced with.
  const auto moved = [](Bytes& bytes) {
    const auto count = std::to_integer<size_t>(bytes[12]);
    std::rotate(bytes.begin(), bytes.begin() + static_cast<int64_t>(16 + 8 * count), bytes.end());
  };
  EXPECT_NE(refuses(1, moved).find("as were announced"), std::string::npos) << refuses(1, moved);
}

// Two processes encode for two workers each, and pass on messages and notes. Both describe the same
// calls as one process does, and form its mean. Their workers' states are its workers' states.
TEST(OwnedUnit, IsTheSameInSeveralProcesses) {
  for (const char* text : {"topk:owners=2,select=unit", "randomk:owners=4,select=unit"}) {
    const auto scheme = MakeScheme(text);
    const auto one = scheme->Open(Matrix(), kWorkers), first = scheme->Open(Matrix(), kWorkers),
               second = scheme->Open(Matrix(), kWorkers);
    for (int64_t step = 0; step < 3; ++step) {
      const auto gradients = Gradients(step);
      for (Exchange* exchange : {one.get(), first.get(), second.get()}) {
        exchange->Begin(StepOf(step, 0.05));
      }
      const auto own = [&](int w) { return w < 2 ? first.get() : second.get(); };
      const auto other = [&](int w) { return w < 2 ? second.get() : first.get(); };
      for (int calls = 0;; ++calls) {
        const auto call = one->NextCall(), here = first->NextCall(), there = second->NextCall();
        ASSERT_EQ(call.has_value(), here.has_value());
        ASSERT_EQ(call.has_value(), there.has_value());
        if (!call) break;
        EXPECT_EQ(here->owned, call->owned);
        ASSERT_EQ(here->decode.size(), call->decode.size());
        for (size_t i = 0; i < call->decode.size(); ++i) {
          EXPECT_EQ(here->decode[i].elements, call->decode[i].elements) << text;
          EXPECT_EQ(there->decode[i].elements, call->decode[i].elements) << text;
        }
        std::vector<Message> messages;
        for (int w = 0; w < kWorkers; ++w) {
          const std::span<const float> gradient =
              calls == 0 ? std::span<const float>(gradients[w]) : std::span<const float>();
          messages.push_back(one->Encode(w, gradient));
          EXPECT_EQ(own(w)->Encode(w, gradient).bytes, messages.back().bytes);
          StateWriter notes;
          own(w)->WriteNotes(w, notes);
          const Bytes written = notes.Take();
          StateReader in(written);
          other(w)->ReadNotes(w, in);
          in.ExpectEnd();
        }
        for (Exchange* exchange : {one.get(), first.get(), second.get()}) {
          for (int w = 0; w < kWorkers; ++w) {
            EXPECT_EQ(exchange->PartBytes(w, messages[w].bytes),
                      one->PartBytes(w, messages[w].bytes));
          }
        }
        for (Exchange* exchange : {one.get(), first.get(), second.get()}) {
          for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, messages[w].bytes);
          exchange->FinishCall();
        }
      }
      std::vector<float> mean(kNumel), of_first(kNumel);
      one->Mean(mean);
      first->Mean(of_first);
      EXPECT_EQ(of_first, mean) << text;
      for (int w = 0; w < kWorkers; ++w) {
        StateWriter all, part;
        one->SaveWorker(w, all);
        own(w)->SaveWorker(w, part);
        EXPECT_EQ(part.Take(), all.Take()) << text;
      }
    }
  }
}

TEST(OwnedUnit, RefusesWhatCannotBeDivided) {
  const auto reason = [](const std::string& text) {
    return MessageOf([&] { MakeScheme(With(text, "owners=4,select=unit")); });
  };
  for (const char* text : {"topk+rbf", "topk+qsgd", "redsync:quantised=on", "topk+natural"}) {
    EXPECT_NE(reason(text).find("share a scale or draws"), std::string::npos) << reason(text);
  }
  for (const char* text : {"qsgd", "dense", "fft", "blocks", "int"}) {
    EXPECT_NE(reason(text).find("does not select values by their positions"), std::string::npos)
        << reason(text);
  }
  for (const char* text : {"topk:memory=ef21", "topk:dense_start=3", "demo"}) {
    EXPECT_NE(reason(text).find("one selection of a unit in every step"), std::string::npos)
        << reason(text);
  }
  EXPECT_NE(reason("topk:node=2").find("option select of topk: got 'unit'"), std::string::npos);
  EXPECT_NE(reason("powersgd").find("option owners of"), std::string::npos);
  EXPECT_NE(MessageOf([] { MakeScheme("topk:owners=2,select=all"); }).find("slice, unit"),
            std::string::npos);
  EXPECT_FALSE(MakeScheme("topk:owners=4,select=unit")->Traits().takes_candidates);
}

}  // namespace
}  // namespace legacy::owned_unit_test
