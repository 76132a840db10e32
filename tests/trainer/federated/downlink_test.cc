#include "trainer/federated/downlink.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/random.h"
#include "trainer/federated/uplink.h"

namespace legacy::downlink_test {
namespace {

constexpr int64_t kWeights = 1030;

// A matrix of 40 x 25 and a vector of 30.
std::vector<Unit> Layers() {
  return {{.id = 0, .name = "weight", .shape = {40, 25}, .offset = 0, .numel = 1000},
          {.id = 1, .name = "bias", .shape = {30}, .offset = 1000, .numel = 30}};
}

// Weights of a version: those of the one before, and a step.
std::vector<float> Weights(int64_t version) {
  std::vector<float> weights(kWeights);
  for (int64_t v = 0; v <= version; ++v) {
    RandomStream random({.seed = 3, .step = static_cast<uint64_t>(v)});
    for (float& weight : weights) weight += static_cast<float>(random.Normal());
  }
  return weights;
}

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Downlink, SendsWeightsAsTheyAre) {
  Downlink dense("dense", Layers(), 1);
  EXPECT_TRUE(dense.Exact());
  EXPECT_EQ(dense.Send(Weights(0)), Weights(0));
  EXPECT_EQ(dense.WholeBytes(), 4 * kWeights);
  EXPECT_TRUE(dense.DecodeWork().empty());
  EXPECT_FALSE(dense.Size());
}

TEST(Downlink, RoundsToHalfPrecision) {
  Downlink half("fp16", Layers(), 1);
  const std::vector<float> weights = Weights(2);
  const std::vector<float> decoded = half.Send(weights);
  int64_t bytes = 0;
  for (const Message& message : half.messages()) bytes += message.size();
  EXPECT_EQ(half.WholeBytes(), bytes);
  EXPECT_EQ(bytes, 2 * kWeights + 2 * kHeaderBytes);
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_NEAR(decoded[i], weights[i], std::abs(weights[i]) / 2048 + 1e-7);
  }
  std::vector<float> client(weights.size(), 77);
  half.Receive(half.messages(), 0, client);
  EXPECT_EQ(client, decoded);
  std::vector<float> large = weights;
  large[1012] = -65505;
  EXPECT_EQ(MessageOf([&] { half.Send(large); }),
            "version 1: layer bias has -65505.000000, which --downlink=fp16 cannot send: it ends "
            "at 65504");
}

// A client that decodes the messages that it missed has the server's weights, whenever it takes
// part, and gets the shorter of these messages and the whole model.
TEST(Downlink, IsTheSameAtServerAndClientsAfterAnyPattern) {
  for (const char* text : {"delta:topk@10%", "delta:randomk@20%", "delta:topk+rbf:bits=8@5%",
                           "delta:topk:vectors=off@10%", "delta:sign", "delta:sidco@5%",
                           "delta:fp16", "delta:dense", "delta:qsgd@8"}) {
    Downlink downlink(text, Layers(), 5);
    DownlinkLedger ledger;
    constexpr int kClients = 5;
    std::array<std::vector<float>, kClients> copies;
    std::array<int64_t, kClients> has;
    has.fill(-1);
    std::vector<std::vector<Message>> history;
    RandomStream random({.seed = 8});
    int wholes = 0, deltas = 0;
    for (int64_t version = 0; version < 12; ++version) {
      const std::vector<float> sent = downlink.Send(Weights(version));
      history.emplace_back(downlink.messages().begin(), downlink.messages().end());
      const DeltaSize size = downlink.Size().value();
      for (int client = 0; client < kClients; ++client) {
        if (random.Uniform() < 0.3 * client / kClients + 0.3) continue;
        int64_t missed = 0;
        for (int64_t v = has[client] + 1; has[client] >= 0 && v <= version; ++v) {
          for (const Message& message : history[v]) missed += message.size();
        }
        const DownlinkNeed need = ledger.NeedOf(client, version, size);
        const bool whole = has[client] < 0 || missed >= 4 * kWeights;
        EXPECT_EQ(need.bytes, whole ? 4 * kWeights : missed) << text;
        EXPECT_EQ(need.messages, whole ? 0 : version - has[client]) << text;
        std::vector<float> copy = whole ? sent : copies[client];
        wholes += whole;
        for (int64_t v = version - need.messages + 1; v <= version; ++v) {
          ++deltas;
          downlink.Receive(history[v], v, copy);
        }
        EXPECT_EQ(copy, sent) << text << " " << client << " " << version;
        if (random.Uniform() < 0.2) continue;  // its task is lost, and leaves no trace
        copies[client] = copy;
        has[client] = version;
        ledger.Decoded(client, version, size);
      }
    }
    EXPECT_GT(wholes, 0) << text;
    EXPECT_EQ(deltas == 0, std::string(text) == "delta:dense") << text;
  }
}

// What is left out stays in the next difference: if the server's weights do not change, clients
// reach them.
TEST(Downlink, FeedsItsErrorBack) {
  Downlink downlink("delta:topk@10%", Layers(), 1);
  downlink.Send(Weights(0));
  std::vector<float> decoded;
  for (int version = 0; version < 11; ++version) decoded = downlink.Send(Weights(1));
  const std::vector<float> weights = Weights(1);
  for (size_t i = 0; i < weights.size(); ++i) ASSERT_NEAR(decoded[i], weights[i], 1e-5);
}

// The work that clients are charged is that of the messages which they decode.
TEST(Downlink, ChargesWhatClientsDecode) {
  const auto elements = [](const WorkList& work) {
    int64_t sum = 0;
    for (const Work& entry : work) sum += entry.elements;
    return sum;
  };
  const Downlink half("fp16", Layers(), 1);
  ASSERT_EQ(half.DecodeWork().size(), 1);
  EXPECT_EQ(half.DecodeWork()[0].kernel, "cast.decode");
  EXPECT_EQ(elements(half.DecodeWork()), kWeights);
  const Downlink delta("delta:topk@10%", Layers(), 1);
  const auto codec = MakeCodec("topk");
  WorkList expected;
  for (const Unit& layer : Layers()) JoinWork(codec->DecodeWork(layer.numel, 0.1), expected);
  EXPECT_EQ(elements(delta.DecodeWork()), elements(expected));
}

TEST(Downlink, GoesOnFromItsState) {
  for (const char* text : {"dense", "fp16", "delta:redsync@5%", "delta:qsgd@4"}) {
    Downlink whole(text, Layers(), 2), first(text, Layers(), 2), second(text, Layers(), 2);
    for (int64_t version = 0; version < 3; ++version) {
      whole.Send(Weights(version));
      first.Send(Weights(version));
    }
    StateWriter out;
    first.Save(out);
    const Bytes bytes = out.Take();
    second.Send(Weights(0));
    StateReader in(bytes);
    second.Load(in);
    in.ExpectEnd();
    EXPECT_EQ(second.Send(Weights(3)), whole.Send(Weights(3))) << text;
    StateReader wrong(bytes);
    Downlink other("delta:topk", Layers(), 2);
    EXPECT_THROW(other.Load(wrong), Error);
  }
  DownlinkLedger ledger, again;
  ledger.Decoded(7, 3, {.whole = 100, .sent = 40});
  StateWriter out;
  ledger.Save(out);
  const Bytes bytes = out.Take();
  StateReader in(bytes);
  again.Load(in);
  EXPECT_EQ(again.NeedOf(7, 5, {.whole = 100, .sent = 60}).bytes, 20);
  EXPECT_EQ(again.NeedOf(7, 5, {.whole = 100, .sent = 60}).messages, 2);
  EXPECT_EQ(again.NeedOf(8, 5, {.whole = 100, .sent = 60}).bytes, 100);
}

TEST(Downlink, SaysWhatIsAllowed) {
  const auto message = [](const char* text) {
    return MessageOf([&] { const Downlink downlink(text, Layers(), 1); });
  };
  EXPECT_EQ(message("half"),
            "downlink: got 'half'; allowed: dense, fp16, or delta:CODEC[@PARAMETER], as in "
            "delta:topk@1%");
  EXPECT_NE(message("delta:").find("as in delta:topk@1%"), std::string::npos);
  EXPECT_NE(message("delta:topkk").find("topk"), std::string::npos);
  EXPECT_EQ(message("delta:powersgd"),
            "downlink: got 'powersgd'; allowed: a codec whose messages stand alone, as clients "
            "take part at different times");
  EXPECT_EQ(message("delta:terngrad"),
            "downlink: got 'terngrad'; allowed: a contractive codec, whose error is below its "
            "input: differences would grow");
  EXPECT_NE(message("delta:topk@200%").find("200"), std::string::npos);
  EXPECT_NE(message("delta:topk@x").find("x"), std::string::npos);
}

// A first contact gets the model and what else comes down; later ones the shorter of the messages
// that they missed and the model.
TEST(DownlinkLedger, SaysWhatClientsDownload) {
  DownlinkLedger ledger;
  VersionWork work = {.version = 5,
                      .down_bytes = 120,
                      .encode = {},
                      .decode = {{"cast.decode", 30, 1}},
                      .delta = DeltaSize{.whole = 100, .sent = 60}};
  ledger.Decoded(1, 2, {.whole = 100, .sent = 20});
  ledger.Decoded(2, 5, {.whole = 100, .sent = 60});
  EXPECT_EQ(ledger.NeedOf(0, work).bytes, 120);
  EXPECT_EQ(ledger.NeedOf(0, work).messages, 0);
  EXPECT_EQ(ledger.NeedOf(1, work).bytes, 60);
  EXPECT_EQ(ledger.NeedOf(1, work).messages, 3);
  EXPECT_EQ(ledger.NeedOf(2, work).bytes, 20);
  EXPECT_EQ(ledger.NeedOf(2, work).messages, 0);
  work.delta->sent = 120;
  EXPECT_EQ(ledger.NeedOf(1, work).bytes, 120);
  work.delta.reset();
  EXPECT_EQ(ledger.NeedOf(1, work).bytes, 120);
  EXPECT_EQ(ledger.NeedOf(1, work).messages, 1);
}

}  // namespace
}  // namespace legacy::downlink_test
