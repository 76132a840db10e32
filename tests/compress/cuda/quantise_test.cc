#include "compress/cpu/vector.h"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"
#include "compress/options.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::quantise_test {
namespace {

constexpr uint64_t kStep = 3;

struct Case {
  std::string name;  // in the words of the CPU's options
  QuantiserSetting setting;
};

std::vector<Case> Cases() {
  using Kind = QuantiserKind;
  std::vector<Case> cases = {{"fp32", {.kind = Kind::kFloat32}},
                             {"fp16", {.kind = Kind::kFloat16}},
                             {"bf16", {.kind = Kind::kBfloat16}},
                             {"terngrad", {.kind = Kind::kTernGrad}},
                             {"terngrad:clip=0", {.kind = Kind::kTernGrad, .clip = 0}},
                             {"natural", {.kind = Kind::kNatural, .bits = 9}},
                             {"natural:bits=8", {.kind = Kind::kNatural, .bits = 8}},
                             {"sign", {.kind = Kind::kSign}},
                             {"onebit", {.kind = Kind::kOneBit}}};
  for (int bits = 2; bits <= 16; ++bits) {
    cases.push_back({"uniform:bits=" + std::to_string(bits), {Kind::kUniform, bits}});
  }
  for (int bits = 3; bits <= 16; ++bits) {
    const std::string name = "rbf:bits=" + std::to_string(bits);
    cases.push_back({name, {.kind = Kind::kRange, .bits = bits}});
    cases.push_back({name + ",mantissa=1", {.kind = Kind::kRange, .bits = bits, .mantissa = 1}});
  }
  for (const int64_t bucket : {64, 192, 512, 1088, 4096, 4160, 8192}) {
    for (int bits = 1; bits <= 8; ++bits) {
      for (const bool stochastic : {false, true}) {
        const std::string options = ":bits=" + std::to_string(bits) +
                                    ",bucket=" + std::to_string(bucket) +
                                    ",rounding=" + (stochastic ? "stochastic" : "nearest");
        QuantiserSetting setting = {Kind::kMaxMin, bits, bucket, stochastic};
        cases.push_back({"maxmin" + options, setting});
        if (bits == 1) continue;
        setting.kind = Kind::kQsgd;
        cases.push_back({"qsgd" + options, setting});
        setting.euclidean = true;
        cases.push_back({"qsgd" + options + ",norm=l2", setting});
      }
    }
  }
  for (const std::string format : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) {
    for (const std::string options : {"", ",block=96", ",block=4128,scale=up"}) {
      const std::string name = "mx:format=" + format + options;
      cases.push_back({name, *MakeQuantiser(ParseStages(name)[0])->Setting(0)});
    }
  }
  for (const std::string name : {"fp8", "fp8:format=e5m2,scale=up"}) {
    cases.push_back({name, *MakeQuantiser(ParseStages(name)[0])->Setting(0)});
  }
  return cases;
}

std::unique_ptr<Quantiser> OnCpu(const Case& one) {
  return MakeQuantiser(ParseStages(one.name)[0]);
}

// Returns segments with gaps that must not be written.
std::vector<QuantisedUnit> Units(const QuantiserSetting& setting,
                                 const std::vector<int64_t>& lengths) {
  constexpr int64_t kGap = 8;
  std::vector<QuantisedUnit> units;
  int64_t segment = kGap;
  for (const Extent& extent : test::Apart(lengths)) {
    units.push_back({extent, segment});
    segment = (segment + SegmentBytes(setting, extent.length) + kGap + 3) / 4 * 4;
  }
  units.push_back({{units.back().extent.offset + units.back().extent.length, 0}, segment});
  return units;
}

CodecContext ContextOf(uint32_t unit) {
  CodecContext context;
  context.unit = unit;
  context.random = {.seed = 1, .step = kStep};
  return context;
}

struct Result {
  Bytes segments;
  std::vector<float> residual;
  std::vector<float> sum;
};

constexpr int kWorkers = 3;  // all send the same

Result OnCpu(const Case& one, const std::vector<QuantisedUnit>& units,
             const std::vector<float>& gradient, std::vector<float> residual, Bytes segments) {
  const auto quantiser = OnCpu(one);
  const double bits = one.setting.bits;
  std::vector<float> sum(residual.size());
  for (uint32_t u = 0; u < units.size(); ++u) {
    const auto values = std::span(residual).subspan(units[u].extent.offset, units[u].extent.length);
    cpu::Add(std::span(gradient).subspan(units[u].extent.offset, values.size()), values);
    Bytes segment;
    quantiser->Encode(values, bits, ContextOf(u), segment);
    EXPECT_EQ(std::ssize(segment), SegmentBytes(one.setting, std::ssize(values)));
    std::ranges::copy(segment, segments.begin() + units[u].segment);
    std::vector<float> decoded(values.size());
    quantiser->Decode(segment, bits, decoded);
    for (int w = 0; w < kWorkers; ++w) {
      cpu::Add(decoded, std::span(sum).subspan(units[u].extent.offset, values.size()));
    }
    cpu::Subtract(decoded, values);
  }
  return {segments, residual, sum};
}

test::Buffer<cpu::DrawSource> DrawSources(size_t units) {
  std::vector<cpu::DrawSource> draws;
  for (uint32_t u = 0; u < units; ++u) draws.push_back(DrawsOf(ContextOf(u)));
  return test::Buffer<cpu::DrawSource>(draws);
}

std::vector<uint32_t> Encode(test::Device& device, const QuantiserTable& table,
                             QuantisedParts parts, QuantiseArrays arrays) {
  const auto draws = DrawSources(table.units());
  const test::Buffer<uint32_t> non_finite(std::vector<uint32_t>(table.units()));
  arrays.draws = draws.data();
  arrays.non_finite = non_finite.data();
  const test::Scratch scratch(
      [&](Workspace& workspace) { LayOutQuantise(table, {}, {}, workspace); });
  Workspace workspace = scratch.workspace();
  const QuantiseJob job = LayOutQuantise(table, parts, arrays, workspace);
  LaunchQuantise(device, job, table);
  return non_finite.Get();
}

std::vector<uint32_t> DecodeAdd(test::Device& device, const QuantiserTable& table,
                                QuantisedParts parts, DequantiseArrays arrays) {
  const test::Buffer<uint32_t> malformed(
      std::vector<uint32_t>(size_t(table.units()) * arrays.workers));
  arrays.malformed = malformed.data();
  LaunchDequantise(device, MakeDequantiseJob(table, parts, arrays), table);
  return malformed.Get();
}

void ExpectSame(const Case& one, const std::vector<int64_t>& lengths,
                const std::vector<float>& gradient, const std::vector<float>& residual) {
  SCOPED_TRACE(one.name);
  const auto units = Units(one.setting, lengths);
  const QuantiserTable table(one.setting, units);
  const int64_t bytes = (units.back().segment + 64 + 3) / 4 * 4;
  const Bytes before(bytes, std::byte{0x5A});
  const Result expected = OnCpu(one, units, gradient, residual, before);
  auto compensated = residual;
  cpu::Add(gradient, compensated);
  test::OnDevice([&](test::Device& device) {
    const test::Tables parts(table);
    const test::Buffer<float> gradients(gradient), residuals(residual), values(compensated);
    const test::Buffer<std::byte> out(before), plain(before);
    const std::vector<uint32_t> none(units.size());
    EXPECT_EQ(Encode(device, table, parts.view(), {gradients.data(), residuals.data(), out.data()}),
              none);
    EXPECT_EQ(Encode(device, table, parts.view(), {values.data(), nullptr, plain.data()}), none);
    ASSERT_TRUE(out.Get() == expected.segments);
    ASSERT_TRUE(plain.Get() == expected.segments);
    ASSERT_TRUE(test::SameBits(residuals.Get(), expected.residual));

    Bytes received;
    for (int w = 0; w < kWorkers; ++w) {
      received.insert(received.end(), expected.segments.begin(), expected.segments.end());
    }
    const test::Buffer<std::byte> in(received);
    const test::Buffer<float> sum(std::vector<float>(gradient.size()));
    const auto malformed =
        DecodeAdd(device, table, parts.view(), {in.data(), bytes, kWorkers, sum.data()});
    EXPECT_EQ(malformed, std::vector<uint32_t>(units.size() * kWorkers));
    ASSERT_TRUE(test::SameBits(sum.Get(), expected.sum));
  });
}

int64_t Total(const std::vector<int64_t>& lengths) {
  const Extent last = test::Apart(lengths).back();
  return last.offset + last.length;
}

TEST(CudaQuantise, WritesTheSegmentsOfTheCpu) {
  const std::vector<int64_t> lengths = {1, 0, 33, 700, 4096, 9000};
  const auto gradient = test::Normals(Total(lengths), 1);
  const auto residual = test::Normals(Total(lengths), 2);
  for (const Case& one : Cases()) ExpectSame(one, lengths, gradient, residual);
}

TEST(CudaQuantise, HardInputsGiveTheCpusSegments) {
  const std::vector<int64_t> lengths = {7, 64, 31, 0, 8200, 4095, 2};
  for (const Case& one : Cases()) {
    const bool one_of_many = one.setting.bits != 4 && one.setting.bits != 8;
    if (one_of_many && one.setting.kind != QuantiserKind::kNatural) continue;
    auto inputs = test::HardInputs(Total(lengths));
    auto& huge = inputs.emplace_back(test::Normals(Total(lengths), 6));
    for (float& x : huge) x *= 0x1p125f;
    for (const auto& input : inputs) {
      ExpectSame(one, lengths, input, std::vector<float>(input.size(), -0.0f));
    }
  }
}

// Sums take several levels, and values are sampled.
TEST(CudaQuantise, LargeUnitsGiveTheCpusSegments) {
  const std::vector<int64_t> lengths = {1200000, 5};
  auto gradient = test::Normals(Total(lengths), 3);
  for (size_t i = 0; i < gradient.size(); i += 7) gradient[i] *= 1e10f;
  const std::vector<float> residual(gradient.size());
  using Kind = QuantiserKind;
  ExpectSame({"sign", {.kind = Kind::kSign}}, lengths, gradient, residual);
  ExpectSame({"terngrad", {.kind = Kind::kTernGrad}}, lengths, gradient, residual);
  ExpectSame({"rbf:bits=10", {.kind = Kind::kRange, .bits = 10}}, lengths, gradient, residual);
}

TEST(CudaQuantise, SaysWhichUnitIsNotFinite) {
  const std::vector<int64_t> lengths = {100, 5000, 70};
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.name);
    auto values = test::Normals(Total(lengths), 1);
    values[4000] = std::numeric_limits<float>::infinity();
    values[test::Apart(lengths)[2].offset + 69] = std::nanf("");
    const auto units = Units(one.setting, lengths);
    const QuantiserTable table(one.setting, units);
    test::OnDevice([&](test::Device& device) {
      const test::Tables parts(table);
      const test::Buffer<float> in(values);
      const test::Buffer<std::byte> out(units.back().segment + 64);
      EXPECT_EQ(Encode(device, table, parts.view(), {in.data(), nullptr, out.data()}),
                (std::vector<uint32_t>{0, 1, 1, 0}));
    });
  }
}

// Every byte of a segment is changed in turn: the device refuses the segments that the CPU refuses,
// and no others.
TEST(CudaQuantise, RefusesWhatTheCpuRefuses) {
  constexpr int64_t kLength = 67;
  const auto values = test::Normals(kLength, 4);
  for (const Case& one : Cases()) {
    if (one.name.starts_with("onebit") || one.name == "natural:bits=8") continue;  // see quantise.h
    if (one.name.starts_with("mx") || one.name.starts_with("fp8")) continue;       // below
    if (one.setting.bucket != 64 && HasBuckets(one.setting)) continue;
    SCOPED_TRACE(one.name);
    const auto quantiser = OnCpu(one);
    Bytes segment;
    quantiser->Encode(values, one.setting.bits, ContextOf(0), segment);
    const std::vector<QuantisedUnit> units = {{{0, kLength}, 0}};
    const QuantiserTable table(one.setting, units);
    const test::Tables parts(table);
    for (size_t i = 0; i < segment.size(); ++i) {
      for (const int byte : {0x00, 0x7F, 0x80, 0xFF}) {
        Bytes changed = segment;
        changed[i] = static_cast<std::byte>(byte);
        std::vector<float> decoded(kLength);
        bool refused = false;
        try {
          quantiser->Decode(changed, one.setting.bits, decoded);
        } catch (const Error&) {
          refused = true;
        }
        test::OnDevice([&](test::Device& device) {
          const test::Buffer<std::byte> in(changed);
          const test::Buffer<float> sum(std::vector<float>(kLength, 0.0f));
          const auto malformed =
              DecodeAdd(device, table, parts.view(), {in.data(), 0, 1, sum.data()});
          ASSERT_EQ(malformed[0] != 0, refused) << i << " " << byte;
        });
      }
    }
  }
}

// What a block's largest code is, is not looked at: see quantise.h.
TEST(CudaQuantise, RefusesScalesAndCodesThatAreNotFinite) {
  constexpr int64_t kLength = 67;
  const auto values = test::Normals(kLength, 4);
  for (const Case& one : Cases()) {
    if (!one.name.starts_with("mx") && !one.name.starts_with("fp8")) continue;
    const cpu::ElementRule rule = RuleOf(one.setting.format, false);
    Bytes segment;
    OnCpu(one)->Encode(values, 0, ContextOf(0), segment);
    const QuantiserTable table(one.setting, std::vector<QuantisedUnit>{{{0, kLength}, 0}});
    const test::Tables parts(table);
    const auto scales = static_cast<size_t>(ScalesOf(one.setting, kLength));
    const bool any_code = rule.largest == (1 << (rule.width - 1)) - 1;
    const std::tuple<size_t, int, bool> kChanges[] = {
        {0, rule.LargestScale(), false},
        {0, rule.LargestScale() + 1, true},
        {0, 255, true},
        {scales + 3, 0, false},
        {scales + 3, rule.largest, false},
        {scales + 3, 0x7F, !any_code && rule.width == 8},
        {segment.size() - 1, 0xFF, !any_code || kLength * rule.width % 8 != 0}};
    for (const auto& [at, byte, refused] : kChanges) {
      Bytes changed = segment;
      changed[at] = static_cast<std::byte>(byte);
      test::OnDevice([&](test::Device& device) {
        const test::Buffer<std::byte> in(changed);
        const test::Buffer<float> sum(std::vector<float>(kLength, 0.0f));
        const auto malformed =
            DecodeAdd(device, table, parts.view(), {in.data(), 0, 1, sum.data()});
        ASSERT_EQ(malformed[0] != 0, refused) << one.name << " " << at << " " << byte;
      });
    }
  }
}

TEST(CudaQuantise, RefusesSettings) {
  const std::vector<QuantisedUnit> units = {{{0, 10}, 0}};
  using Kind = QuantiserKind;
  for (const QuantiserSetting& bad :
       std::vector<QuantiserSetting>{{Kind::kQsgd, 1},
                                     {Kind::kMaxMin, 9},
                                     {Kind::kUniform, 17},
                                     {Kind::kRange, 2},
                                     {Kind::kNatural, 7},
                                     {Kind::kQsgd, 4, 100},
                                     {Kind::kQsgd, 4, 0},
                                     {Kind::kMx, 8, 16},
                                     {Kind::kMx, 6, 32},
                                     {.kind = Kind::kRange, .bits = 5, .mantissa = 4}}) {
    EXPECT_THROW(QuantiserTable(bad, units), Error);
  }
  const std::vector<QuantisedUnit> unaligned = {{{0, 10}, 2}};
  EXPECT_THROW(QuantiserTable(QuantiserSetting{}, unaligned), Error);
}

}  // namespace
}  // namespace legacy::cuda::quantise_test