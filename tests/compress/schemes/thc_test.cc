// THC (schemes/thc.cc), against numbers of an independent program and its equations.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/rotation.h"
#include "compress/exchange.h"
#include "compress/schemes/thc_table.h"
#include "tests/compress/test_data.h"

namespace legacy::thc_test {
namespace {

constexpr int kWorkers = 3;

TEST(ThcTable, EqualsTablesOfAnotherProgram) {
  struct Row {
    int bits, points;
    double p, bound, error;
    std::vector<uint8_t> entries;
  };
  const Row rows[] = {
      {2, 20, 0.0625, 1.86273187, 0.249762718, {0, 7, 13, 20}},
      {2, 20, 0.001953125, 3.09726908, 0.60114293, {0, 8, 12, 20}},
      {2, 30, 0.03125, 2.15387469, 0.324202433, {0, 11, 19, 30}},
      {3, 10, 0.0625, 1.86273187, 0.0595969468, {0, 2, 3, 4, 6, 7, 8, 10}},
      {3, 30, 0.03125, 2.15387469, 0.0587462896, {0, 5, 9, 13, 17, 21, 25, 30}},
      {3, 50, 0.0009765625, 3.29719335, 0.0999632499, {0, 12, 18, 23, 27, 32, 38, 50}},
      {4,
       18,
       0.03125,
       2.15387469,
       0.0169938422,
       {0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 18}},
      {4,
       30,
       0.03125,
       2.15387469,
       0.0134963558,
       {0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30}},
      {4,
       34,
       0.001953125,
       3.09726908,
       0.0221592299,
       {0, 4, 7, 9, 11, 13, 15, 16, 18, 19, 21, 23, 25, 27, 30, 34}},
      {4,
       50,
       0.0009765625,
       3.29719335,
       0.0213431601,
       {0, 8, 12, 15, 18, 20, 22, 24, 26, 28, 30, 32, 35, 38, 42, 50}}};
  for (const Row& row : rows) {
    const ThcTable table(row.bits, row.points, row.p);
    EXPECT_TRUE(std::ranges::equal(table.entries(), row.entries)) << row.bits << " " << row.points;
    EXPECT_NEAR(table.bound(), row.bound, 1e-6);
    // The expected variance of rounding, of those that are not clamped, by a sum over a fine grid.
    constexpr int kParts = 200000;
    double error = 0, share = 0;
    for (int i = 0; i < kParts; ++i) {
      const double x = table.bound() * ((2.0 * i + 1) / kParts - 1);
      const double density = std::exp(-x * x / 2);
      error += density * table.SquaredError(x);
      share += density;
    }
    EXPECT_NEAR(error / share, row.error, 1e-4 * row.error) << row.bits << " " << row.points;
  }
}

TEST(ThcTable, IsUniformIfEveryPointIsTaken) {
  for (int bits = 1; bits <= ThcTable::kMostBits; ++bits) {
    const ThcTable table(bits, (1 << bits) - 1, 0.01);
    for (int code = 0; code < 1 << bits; ++code) EXPECT_EQ(table.entries()[code], code);
  }
}

// A number between two entries becomes either so that its expectation is the number.
TEST(ThcTable, RoundsWithoutBias) {
  const ThcTable table(3, 20, 1.0 / 32);
  const double unit = 2 * double{table.bound()} / table.points();
  for (const float number : {-3.0f, -2.15f, -1.0f, -0.3f, 0.0f, 0.7f, 1.9f, 2.2f}) {
    double sum = 0, squares = 0;
    const double clamped = std::clamp<double>(number, -table.bound(), table.bound());
    for (uint32_t draw = 0; draw < 1u << cpu::kDrawBits; ++draw) {
      const double value =
          (table.entries()[table.rules().Rounded(number, draw)] - table.points() / 2.0) * unit;
      sum += value;
      squares += (value - number) * (value - number);
    }
    constexpr double kDraws = 1 << cpu::kDrawBits;
    EXPECT_NEAR(sum / kDraws, clamped, 1e-4) << number;
    EXPECT_NEAR(squares / kDraws, table.SquaredError(number), 1e-3) << number;
  }
}

// A round of two workers by an independent program, which has draws of its own.
TEST(Thc, EqualsARoundOfAnotherProgram) {
  constexpr int64_t kNumel = 8;
  const int minus[] = {0, 0, 0, 1, 1, 1, 1, 0};
  const std::vector<double> x[] = {{-1.46520852, 0.048765791, 0.458391446, -1.05163177, 0.476880314,
                                    -0.999021529, -1.26110559, 0.86503231},
                                   {0.113464445, -1.86103154, -1.67298665, 0.0323184163,
                                    -0.930015924, -0.906567369, -1.44618046, -0.319298952}};
  const std::vector<double> draws[] = {{0.74903921, 0.241712168, 0.32987153, 0.807731906,
                                        0.452955379, 0.240409541, 0.778274415, 0.025171864},
                                       {0.411460921, 0.246320874, 0.789957739, 0.43232666,
                                        0.740031556, 0.508986469, 0.434711272, 0.898320689}};
  const std::vector<int> codes[] = {{11, 4, 2, 4, 4, 6, 5, 10}, {7, 11, 8, 10, 0, 5, 6, 13}};
  const std::vector<uint32_t> sums = {35, 30, 21, 28, 9, 24, 24, 44};
  const double norm = 3.1869146768;
  const double mean[] = {-0.715022383, -1.05823313,  -0.543417011, -0.48621522,
                         -0.371811639, -0.943829545, -1.45864566,  0.200206267};

  uint32_t word = 0;
  for (int i = 0; i < kNumel; ++i) word |= static_cast<uint32_t>(minus[i]) << i;
  const cpu::Rotation rotation(std::vector<uint32_t>{word}, kNumel, kNumel);
  const ThcTable table(4, 30, 1.0 / 32);
  std::vector<uint32_t> total(kNumel);
  for (int w = 0; w < 2; ++w) {
    std::vector<float> rotated(x[w].begin(), x[w].end());
    rotation.Forward(rotated, 0, static_cast<float>(1 / norm), rotated);
    for (int i = 0; i < kNumel; ++i) {
      const auto draw = static_cast<uint32_t>(draws[w][i] * (1 << cpu::kDrawBits));
      const uint8_t code =
          table.rules().Rounded(rotated[i] * static_cast<float>(std::sqrt(8)), draw);
      EXPECT_EQ(code, codes[w][i]) << w << " " << i;
      total[i] += table.entries()[code];
    }
  }
  EXPECT_EQ(total, sums);
  std::vector<float> result(kNumel);
  for (int i = 0; i < kNumel; ++i) {
    result[i] =
        static_cast<float>((total[i] / 2.0 - 15) * 2 * table.bound() / 30 * norm / std::sqrt(8));
  }
  rotation.Back(result, 0);
  for (int i = 0; i < kNumel; ++i) EXPECT_NEAR(result[i], mean[i], 1e-6);
}

UnitStep StepOf(int64_t step) { return {.info = {.seed = 1, .step = step}}; }

std::vector<std::vector<float>> Gradients(int64_t numel, int64_t seed, int workers = kWorkers) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(numel, 10 * seed + w));
  return gradients;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

// A server looks up and adds what the network adds, and its answer says the same.
TEST(Thc, HasTheSameMeanWhereverItIsSummed) {
  for (const int64_t n : {0, 1, 2, 3, 1000, 1025}) {
    const auto network = MakeScheme("thc")->Open(test::MakeUnit(n), kWorkers);
    const auto server = MakeScheme("thc:sums=server")->Open(test::MakeUnit(n), kWorkers);
    for (int64_t step = 0; step < 3; ++step) {
      const auto gradients = Gradients(n, step);
      EXPECT_EQ(test::RunStep(*network, StepOf(step), gradients),
                test::RunStep(*server, StepOf(step), gradients));
    }
    EXPECT_EQ(network->Save(), server->Save());
  }
}

// Without error feedback, the mean over many draws is that of the clamped rotations; few values of
// a normal vector are clamped.
TEST(Thc, IsNearlyUnbiased) {
  constexpr int64_t kNumel = 512;
  const auto exchange =
      MakeScheme("thc:clamped=1e-6", {.error_feedback = false})->Open(test::MakeUnit(kNumel), 2);
  const auto gradients = Gradients(kNumel, 1, 2);
  std::vector<double> sum(kNumel);
  constexpr int kSteps = 2000;
  for (int step = 0; step < kSteps; ++step) {
    const auto mean = test::RunStep(*exchange, StepOf(step), gradients);
    for (int64_t i = 0; i < kNumel; ++i) sum[i] += mean[i] / kSteps;
  }
  double bias = 0, all = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    const double expected = (gradients[0][i] + gradients[1][i]) / 2;
    bias += std::pow(sum[i] - expected, 2);
    all += expected * expected;
  }
  EXPECT_LT(std::sqrt(bias / all), 0.01);
}

// What a worker keeps is its vector without its own decoded table values: the errors of the mean
// are the mean of what workers keep.
TEST(Thc, KeepsWhatWasClampedAndRounded) {
  constexpr int64_t kNumel = 3000;
  const auto exchange = MakeScheme("thc")->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<std::vector<float>> before(kWorkers, std::vector<float>(kNumel));
  double largest = 0;
  for (int64_t step = 0; step < 20; ++step) {
    const auto gradients = Gradients(kNumel, step);
    const auto mean = test::RunStep(*exchange, StepOf(step), gradients);
    for (int64_t i = 0; i < kNumel; ++i) {
      double error = -double{mean[i]} * kWorkers;
      for (int w = 0; w < kWorkers; ++w) {
        error += double{gradients[w][i]} + before[w][i] - exchange->Residual(w)[i];
      }
      ASSERT_NEAR(error, 0, 2e-4);
    }
    for (int w = 0; w < kWorkers; ++w) {
      before[w].assign(exchange->Residual(w).begin(), exchange->Residual(w).end());
      largest = std::max(largest, Squared(before[w]) / Squared(gradients[w]));
    }
  }
  EXPECT_LT(largest, 0.1);
}

TEST(Thc, ErrsAsItsTableSays) {
  constexpr int64_t kNumel = 1 << 15;
  const auto scheme = MakeScheme("thc");
  const auto x = test::Normals(kNumel, 3);
  const std::vector<double> any = {1};
  const double expected = scheme->SquaredErrors(test::MakeUnit(kNumel), x, any, {})[0];
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), 1);
  test::RunStep(*exchange, StepOf(0), {x});
  EXPECT_NEAR(Squared(exchange->Residual(0)), expected, 0.05 * expected);
}

// The bits of sums grow with the number of workers, and are never too few.
TEST(Thc, HasSumsThatFitTheirBits) {
  const Unit unit = test::MakeUnit(1000000);
  const auto network = MakeScheme("thc"), server = MakeScheme("thc:sums=server");
  const auto bytes = [&](const Scheme& scheme, int workers) {
    return scheme.ExpectedCalls(unit, 1, workers, {})->at(1).bytes;
  };
  EXPECT_EQ(network->ExpectedCalls(unit, 1, 8, {})->at(0).bytes, 24);
  EXPECT_EQ(bytes(*network, 8), 1000020);  // 30 x 8 fits 8 bits
  EXPECT_EQ(bytes(*network, 9), 20 + 9 * 125000);
  EXPECT_EQ(bytes(*network, 136), 20 + 12 * 125000);
  EXPECT_EQ(bytes(*server, 8), 500020);
  EXPECT_EQ(server->Plan(unit, 1, 8)->at(1).call.pull, 1000020);
  EXPECT_EQ(server->Plan(unit, 1, 8)->at(1).call.reduction, Reduction::kServed);
  EXPECT_EQ(server->Traits().servers, 1);
  EXPECT_EQ(server->MessageBytes(unit, 1), 500044);

  const auto all = MakeScheme("thc:bits=1,granularity=255");
  EXPECT_THROW(all->Open(test::MakeUnit(4), 258), Error);
  const auto exchange = all->Open(test::MakeUnit(4), 257);  // 255 x 257 = 2^16 - 1
  std::vector<std::vector<float>> equal(257, {1, 1, 1, 1});
  const auto mean = test::RunStep(*exchange, StepOf(0), equal);
  EXPECT_TRUE(std::isfinite(mean[0]));
}

TEST(Thc, OfZerosIsZero) {
  const auto exchange = MakeScheme("thc")->Open(test::MakeUnit(100), 2);
  const std::vector<std::vector<float>> zeros(2, std::vector<float>(100));
  EXPECT_EQ(test::RunStep(*exchange, StepOf(0), zeros), zeros[0]);
  for (const float magnitude : {0x1p-149f, 0x1p-120f, 0x1p98f}) {
    std::vector<std::vector<float>> same(2, std::vector<float>(100, magnitude));
    const auto mean =
        test::RunStep(*MakeScheme("thc")->Open(test::MakeUnit(100), 2), StepOf(1), same);
    double sum = 0;
    for (const float v : mean) sum += double{v} / magnitude / 100;
    EXPECT_NEAR(sum, 1, magnitude < 0x1p-130f ? 1 : 0.2) << magnitude;
  }
}

// Takes a step in which `change` is made to the first worker's message of a call.
void RunChanged(const std::string& text, int call, const std::function<void(Bytes&)>& change) {
  const auto exchange = MakeScheme(text)->Open(test::MakeUnit(21), 2);
  const auto gradients = Gradients(21, 1, 2);
  exchange->Begin(StepOf(0));
  for (int at = 0; exchange->NextCall(); ++at) {
    std::vector<Message> sent;
    for (int w = 0; w < 2; ++w) {
      sent.push_back(exchange->Encode(
          w, at == 0 ? std::span<const float>(gradients[w]) : std::span<const float>()));
    }
    if (at == call) change(sent[0].bytes);
    for (int w = 0; w < 2; ++w) exchange->Accumulate(w, sent[w].bytes);
    exchange->FinishCall();
  }
}

TEST(Thc, RefusesWhatNoEncoderWrites) {
  EXPECT_NO_THROW(RunChanged("thc", 0, [](Bytes&) {}));
  for (const float norm : {-1.0f, -0.0f, std::nanf(""), HUGE_VALF}) {
    EXPECT_THROW(RunChanged("thc", 0,
                            [&](Bytes& bytes) {
                              std::memcpy(bytes.data() + kExtendedHeaderBytes, &norm, sizeof norm);
                            }),
                 Error);
  }
  const auto entry = [](uint32_t value) {
    return [value](Bytes& bytes) {
      std::vector<uint32_t> entries(21);
      const auto packed = std::span(bytes).subspan(kExtendedHeaderBytes);
      cpu::UnpackCodes(packed, 6, entries);
      entries[4] = value;
      cpu::PackCodes(entries, 6, packed);
    };
  };
  EXPECT_NO_THROW(RunChanged("thc", 1, entry(16)));
  EXPECT_THROW(RunChanged("thc", 1, entry(1)), Error);   // no entry of the table
  EXPECT_THROW(RunChanged("thc", 1, entry(31)), Error);  // above the table
  for (const char* text : {"thc", "thc:sums=server"}) {
    EXPECT_THROW(RunChanged(text, 1, [](Bytes& bytes) { bytes.pop_back(); }), Error);
    EXPECT_THROW(RunChanged(text, 1, [](Bytes& bytes) { bytes[16] ^= std::byte{1}; }), Error);
    EXPECT_THROW(RunChanged(text, 1, [](Bytes& bytes) { bytes[18] ^= std::byte{1}; }), Error);
    EXPECT_THROW(RunChanged(text, 1, [](Bytes& bytes) { bytes.back() |= std::byte{0xC0}; }), Error);
  }
  for (const char* bad : {"thc:bits=5", "thc:bits=4,granularity=14", "thc:granularity=256",
                          "thc:clamped=0", "thc:block=3", "thc:sums=switch", "thc+fp16"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::thc_test
