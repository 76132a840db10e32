#include "trainer/federated/uplink.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace legacy::uplink_test {
namespace {

// A matrix of 40 x 25 and a vector of 30.
std::vector<Unit> Units() {
  return {{.id = 0, .name = "weight", .shape = {40, 25}, .offset = 0, .numel = 1000},
          {.id = 1, .name = "bias", .shape = {30}, .offset = 1000, .numel = 30}};
}

std::vector<float> Update(uint64_t step) {
  RandomStream random({.seed = 9, .step = step});
  std::vector<float> update(1030);
  for (float& value : update) value = static_cast<float>(random.Normal());
  return update;
}

std::vector<float> Decoded(const Uplink& uplink, const EncodedUpdate& encoded,
                           std::span<const double> parameters, const UplinkKey& key) {
  std::vector<float> out(1030, 99);
  uplink.Decode(encoded.messages, parameters, key, out);
  return out;
}

double Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

// What was sent and what is left sum to all updates.
TEST(Uplink, KeepsWhatItDoesNotSend) {
  for (const char* scheme : {"topk", "topk+rbf:bits=8", "randomk", "sign", "fft"}) {
    const Uplink uplink(scheme, Units(), UplinkMemory::kClient);
    const double parameter = uplink.scheme().Parameter().fallback;
    const std::vector<double> parameters = {parameter, parameter};
    std::vector<double> given(1030), received(1030);
    Bytes state;
    for (int64_t version = 0; version < 6; ++version) {
      const UplinkKey key = {.version = version, .client = 7};
      const std::vector<float> update = Update(static_cast<uint64_t>(version));
      const EncodedUpdate encoded = uplink.Encode(update, parameters, state, key);
      const std::vector<float> decoded = Decoded(uplink, encoded, parameters, key);
      state = encoded.state;
      for (size_t i = 0; i < 1030; ++i) {
        given[i] += update[i];
        received[i] += decoded[i];
      }
    }
    StateReader in(state);
    in.ExpectNumber("elements", 1030);
    const std::vector<float> residual = in.Floats(1030);
    for (size_t i = 0; i < 1030; ++i) {
      ASSERT_NEAR(received[i] + residual[i], given[i], 1e-4) << scheme << " " << i;
    }
  }
}

// A task that is lost moves nothing: its client encodes the same again.
TEST(Uplink, IsAPureFunction) {
  const Uplink uplink("topk", Units(), UplinkMemory::kClient);
  const std::vector<double> parameters = {0.05, 0.05};
  const EncodedUpdate first = uplink.Encode(Update(1), parameters, {}, {.version = 1});
  const EncodedUpdate lost = uplink.Encode(Update(2), parameters, first.state, {.version = 2});
  const EncodedUpdate again = uplink.Encode(Update(2), parameters, first.state, {.version = 2});
  EXPECT_EQ(lost.state, again.state);
  EXPECT_EQ(lost.messages[0].bytes, again.messages[0].bytes);
  EXPECT_EQ(uplink.MessageBytes(parameters), lost.bytes());
}

TEST(Uplink, DecaysResiduals) {
  const std::vector<double> parameters = {0.05, 0.05};
  const std::vector<float> nothing(1030);
  const auto residual = [&](const Uplink& uplink) {
    const EncodedUpdate first = uplink.Encode(Update(1), parameters, {}, {});
    StateReader in(first.state);
    in.ExpectNumber("elements", 1030);
    const std::vector<float> kept = in.Floats(1030);
    const EncodedUpdate second = uplink.Encode(nothing, parameters, first.state, {.version = 1});
    StateReader then(second.state);
    then.ExpectNumber("elements", 1030);
    const std::vector<float> left = then.Floats(1030);
    const std::vector<float> sent = Decoded(uplink, second, parameters, {.version = 1});
    for (size_t i = 0; i < 1030; ++i) {
      EXPECT_EQ(left[i] + sent[i], (sent[i] != 0 ? sent[i] : left[i]));
    }
    return std::pair(Norm(kept), std::hypot(Norm(left), Norm(sent)));
  };
  const auto [kept, next] = residual(Uplink("topk", Units(), UplinkMemory::kClient, 0.5));
  EXPECT_NEAR(next, kept / 2, 1e-4);
  const auto [whole, same] = residual(Uplink("topk", Units(), UplinkMemory::kClient));
  EXPECT_NEAR(same, whole, 1e-4);
  const auto [by_scheme, less] =
      residual(Uplink("topk:decay=0.25", Units(), UplinkMemory::kClient));
  EXPECT_NEAR(less, by_scheme / 4, 1e-4);
}

// The server's sum of a client's messages is the state that the client keeps, also for vectors that
// are sent whole.
TEST(Uplink, AgreesOnWhatTheServerKnows) {
  for (const char* scheme : {"topk", "topk:vectors=off", "topk:min_numel=100", "dense", "fp16"}) {
    SCOPED_TRACE(scheme);
    const Uplink uplink(scheme, Units(), UplinkMemory::kEf21);
    const std::vector<double> parameters = {0.2, 0.2};
    std::vector<float> known(1030);
    Bytes state;
    double error = 1e9;
    const std::vector<float> update = Update(1);
    for (int64_t version = 0; version < 5; ++version) {
      const UplinkKey key = {.version = version};
      const EncodedUpdate encoded = uplink.Encode(update, parameters, state, key);
      const std::vector<float> decoded = Decoded(uplink, encoded, parameters, key);
      state = encoded.state;
      std::vector<float> left = update;
      for (size_t i = 0; i < 1030; ++i) left[i] -= known[i] += decoded[i];
      StateReader in(state);
      in.ExpectNumber("elements", 1030);
      EXPECT_EQ(in.Floats(1030), known);
      EXPECT_LE(Norm(left), error);  // the same update again comes closer
      error = Norm(left);
    }
    EXPECT_LT(error, 1e-4);
    EXPECT_EQ(uplink.ValuesOf(uplink.StateOf(known)), known);
  }
  const std::vector<double> bits = {2, 2};
  EXPECT_THROW(Uplink("terngrad", Units(), UplinkMemory::kEf21).Check(bits), Error);
}

TEST(Uplink, KeepsNothingWhereNothingIsLeftOut) {
  const std::vector<double> parameters = {4, 4};
  for (const char* scheme : {"dense", "fp16"}) {
    const Uplink uplink(scheme, Units(), UplinkMemory::kClient);
    EXPECT_FALSE(uplink.Keeps(parameters)) << scheme;
    EXPECT_TRUE(uplink.Encode(Update(1), parameters, {}, {}).state.empty()) << scheme;
  }
  EXPECT_TRUE(Uplink("topk", Units(), UplinkMemory::kOff)
                  .Encode(Update(1), std::vector<double>{0.1, 0.1}, {}, {})
                  .state.empty());
  // Vectors that a scheme leaves out are sent whole.
  const Uplink matrices("topk:vectors=off", Units(), UplinkMemory::kClient);
  const std::vector<double> densities = {0.1, 0.1};
  const EncodedUpdate encoded = matrices.Encode(Update(1), densities, {}, {});
  const std::vector<float> decoded = Decoded(matrices, encoded, densities, {}), update = Update(1);
  for (size_t i = 1000; i < 1030; ++i) EXPECT_EQ(decoded[i], update[i]);
}

// QSGD draws: two clients round the same update differently, and two versions, too.
TEST(Uplink, DrawsByClientAndVersion) {
  const Uplink uplink("qsgd", Units(), UplinkMemory::kOff);
  const std::vector<double> bits = {4, 4};
  const auto bytes = [&](int64_t version, int64_t client) {
    return uplink.Encode(Update(1), bits, {}, {.version = version, .client = client})
        .messages[0]
        .bytes;
  };
  EXPECT_EQ(bytes(1, 1), bytes(1, 1));
  EXPECT_NE(bytes(1, 1), bytes(1, 2));
  EXPECT_NE(bytes(1, 1), bytes(2, 1));
}

TEST(Uplink, RefusesSchemesThatNeedEverybody) {
  const auto message = [](const char* scheme) -> std::string {
    try {
      const Uplink uplink(scheme, Units(), UplinkMemory::kClient);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("powersgd"),
            "uplink: got 'powersgd'; allowed: a codec whose messages stand alone, as clients take "
            "part at different times");
  EXPECT_NE(message("dgc").find("uplink"), std::string::npos);
  EXPECT_NE(message("topk:memory=momentum").find("momentum belongs to local training"),
            std::string::npos);
  EXPECT_NE(message("topkk").find("topk"), std::string::npos);
}

TEST(Uplink, RefusesStatesOfOthers) {
  const Uplink uplink("topk", Units(), UplinkMemory::kClient);
  const std::vector<double> parameters = {0.05, 0.05};
  const Bytes state = uplink.Encode(Update(1), parameters, {}, {}).state;
  for (const size_t length : {size_t{1}, size_t{100}, state.size() - 1}) {
    EXPECT_THROW(uplink.Encode(Update(1), parameters, ByteSpan(state).first(length), {}), Error);
  }
}

}  // namespace
}  // namespace legacy::uplink_test
