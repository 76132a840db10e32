// DynamiQ on a GPU writes the messages of schemes/dynamiq.h to the bit, for many units at once, and
// all workers but the first kernel:
//
//   Statistics  mean and sum of squares of each super-group                     4 bytes read
//   Draw        the permutations that workers share, one after the other        N / 8 written
//   Encode      values less their means, in the order of sending, and messages  4 read, 4 written
//   Hop         decodes what arrives, adds the worker's own values, and         4 read
//               encodes the sum, or keeps it in fp32
//   Gather      decodes the sum, and writes the mean                            4 written
//
// and codes. A block of threads takes a super-group; Statistics and Draw take a thread for each,
// because their sums and draws have an order. The layout of a step is made on the host, from the
// statistics.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "compress/cpu/cast.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream_reader.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/coding/hop_kernels.h"
#include "compress/schemes/hops/dynamiq_code.h"

namespace legacy::cuda {

// The most workers whose permutations fit in shared memory.
inline constexpr int kMostDynamiqWorkers = 256;

struct DynamiqUnit {
  Extent extent;        // values in a flat buffer
  int64_t first = 0;    // its first super-group among those of all units
  int64_t supers = 0;   // super-groups
  int64_t payload = 0;  // first byte of its payload among the messages of a slot
  uint32_t id = 0;      // in keys of draws
  uint32_t number = 0;  // of the unit
};

// A super-group in its place in the order of sending.
struct DynamiqPlace {
  int64_t super = 0;   // its number in the unit
  int64_t offset = 0;  // first byte in the payload of all
  float mean = 0;
  int32_t bits = 2;
};

// A run of places at a worker, in a round.
struct DynamiqHop {
  int32_t unit = 0;
  int32_t worker = 0;
  HopInput input = HopInput::kNothing;
  int32_t sends = 1;  // 0: the sum stays in fp32
  int64_t place = 0;  // the first place
  int64_t in = 0;     // byte at which place 0 would begin in what arrives
  int64_t out = 0;    // the same, in what is sent
};

// Pointers are to device memory.
struct DynamiqStep {
  const DynamiqUnit* units = nullptr;
  const int64_t* first = nullptr;              // super-groups before each unit; count + 1 entries
  int32_t count = 0;                           // of units
  const DynamiqPlace* places = nullptr;        // of all units
  const dynamiq::CodeTable* tables = nullptr;  // of 2, 4 and 8 bits
  uint16_t* permutations = nullptr;            // of each group of each place: the workers' numbers
  float* own = nullptr;                        // values in the order of sending, by worker
  int64_t own_stride = 0;                      // floats from a worker to the next
  RandomKey key = {};                          // of the step
  int32_t workers = 1;
  dynamiq::Rounding rounding = dynamiq::Rounding::kValue;

  LEGACY_DEVICE const dynamiq::CodeTable& TableOf(int bits) const {
    return tables[bits == 2 ? 0 : bits == 4 ? 1 : 2];
  }
};

struct DynamiqStatistics {
  static constexpr int kThreads = 64;
  struct Args {
    const DynamiqUnit* units;
    const int64_t* first;
    int32_t count;
    const float* values;   // flat buffer
    float* statistics;     // two for each super-group
    uint32_t* non_finite;  // of each unit, becomes 1
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t at = block.index() * kThreads + thread;
      if (at >= args.first[args.count]) return;
      const int32_t u = FindSegment(args.first, args.count, at);
      const DynamiqUnit& unit = args.units[u];
      const int64_t begin = (at - unit.first) * dynamiq::kSuper;
      const int64_t rest = unit.extent.length - begin;
      const int64_t n = rest < dynamiq::kSuper ? rest : dynamiq::kSuper;
      const float* const values = args.values + unit.extent.offset + begin;
      double sum = 0, squares = 0;
      bool finite = true;
      for (int64_t i = 0; i < n; ++i) {
        const float x = values[i];
        finite = finite && cpu::IsFinite(x);
        sum += x;
        squares += double{x} * double{x};
      }
      if (!finite) block.AtomicOr(&args.non_finite[u], 1u);
      args.statistics[2 * at] = finite ? dynamiq::StatisticOf(sum / static_cast<double>(n)) : 0.0f;
      args.statistics[2 * at + 1] = finite ? dynamiq::StatisticOf(squares) : 0.0f;
    });
  }
};

struct DynamiqDraw {
  static constexpr int kThreads = 32;
  struct Args {
    DynamiqStep step;
  };
  struct Shared {
    std::array<std::array<uint8_t, kThreads>, kMostDynamiqWorkers> order;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DynamiqStep& step = args.step;
    auto& order = block.shared().order;
    block.ForEachThread([&](int thread) {
      const int64_t at = block.index() * kThreads + thread;
      if (at >= step.first[step.count]) return;
      const DynamiqUnit& unit = step.units[FindSegment(step.first, step.count, at)];
      RandomKey key = step.key;
      key.layer = unit.id;
      key.worker = static_cast<uint32_t>(at - unit.first);
      key.purpose = Purpose::kCorrelated;
      StreamReader shared(StreamKeyOf(key));
      for (int64_t g = 0; g < dynamiq::kGroups; ++g) {
        for (int w = 0; w < step.workers; ++w) order[w][thread] = static_cast<uint8_t>(w);
        for (int w = step.workers - 1; w > 0; --w) {
          const uint32_t other = shared.Below(static_cast<uint32_t>(w) + 1);
          const uint8_t moved = order[w][thread];
          order[w][thread] = order[other][thread];
          order[other][thread] = moved;
        }
        uint16_t* const out = step.permutations + (at * dynamiq::kGroups + g) * step.workers;
        for (int w = 0; w < step.workers; ++w) out[w] = order[w][thread];
      }
    });
  }
};

// Codes a super-group by a block of threads, one for each value.
struct DynamiqCoder {
  static constexpr int kThreads = static_cast<int>(dynamiq::kSuper);
  static constexpr int kGroup = static_cast<int>(dynamiq::kGroup);
  struct Shared {
    std::array<uint8_t, kThreads> codes;
    std::array<uint8_t, dynamiq::kGroups> scales;
  };

  // Writes the code of the values in a place of a unit, by a worker.
  template <class Block>
  static LEGACY_DEVICE void Encode(Block& block, const DynamiqStep& step, const DynamiqUnit& unit,
                                   int64_t place, int32_t worker,
                                   const typename Block::template PerThread<float>& values,
                                   std::byte* out) {
    Shared& shared = block.shared();
    const int bits = step.places[unit.first + place].bits;
    typename Block::template PerThread<uint32_t> magnitude;
    block.ForEachThread([&](int thread) { magnitude[thread] = cpu::KeyOf(values[thread]); });
    const uint32_t largest = block.Max(magnitude);
    block.template GroupMax<kGroup>(magnitude);
    const bool finite = largest < cpu::kInfinityKey;
    const float group_unit = finite ? dynamiq::UnitOf(std::bit_cast<float>(largest)) : 0.0f;
    block.ForEachThread([&](int thread) {
      const float top = finite ? std::bit_cast<float>(magnitude[thread]) : 0.0f;
      const int scale = dynamiq::GroupCode(top, group_unit);
      const double draw = DrawOf(step, unit, place, worker, thread);
      shared.codes[thread] = static_cast<uint8_t>(dynamiq::CodeIn(
          step.TableOf(bits), values[thread], scale, group_unit, draw, step.rounding));
      if (thread % kGroup == 0) shared.scales[thread / kGroup] = static_cast<uint8_t>(scale);
    });
    block.Sync();
    const auto stored = std::bit_cast<uint32_t>(group_unit) >> 16;
    block.ForEachThread([&](int thread) {
      const int bytes = static_cast<int>(dynamiq::SuperBytes(bits));
      for (int b = thread; b < bytes; b += kThreads) {
        out[b] = static_cast<std::byte>(ByteOf(shared, bits, stored, b));
      }
    });
    block.Sync();
  }

  // Returns the value of a thread in a checked super-group.
  static LEGACY_DEVICE float Decode(const DynamiqStep& step, int bits, const std::byte* in,
                                    int thread) {
    const int group = thread / kGroup * (2 * bits + 1);
    const int bit = thread % kGroup * bits;
    const auto code = static_cast<int>(in[group + bit / 8]) >> bit % 8 & ((1 << bits) - 1);
    const auto scale = static_cast<int>(in[group + 2 * bits]);
    const std::byte* const unit = in + dynamiq::SuperBytes(bits) - 2;
    const auto stored =
        static_cast<uint16_t>(static_cast<uint32_t>(unit[0]) | static_cast<uint32_t>(unit[1]) << 8);
    return dynamiq::ValueIn(step.TableOf(bits), code, scale, cpu::Bfloat16ToFloat(stored));
  }

 private:
  // Returns the draw of value `i` of a place, (pi + gamma) / N.
  static LEGACY_DEVICE double DrawOf(const DynamiqStep& step, const DynamiqUnit& unit,
                                     int64_t place, int32_t worker, int i) {
    RandomKey key = step.key;
    key.layer = unit.id;
    key.worker = static_cast<uint32_t>(place * step.workers + worker);
    key.purpose = Purpose::kStochastic;
    const auto draws = StreamBlock(StreamKeyOf(key), static_cast<uint64_t>(i / 2));
    const uint32_t low = i % 2 == 0 ? draws[0] : draws[2];
    const uint32_t high = i % 2 == 0 ? draws[1] : draws[3];
    const double own =
        static_cast<double>((low | static_cast<uint64_t>(high) << 32) >> 11) * 0x1p-53;
    const int64_t group = (unit.first + place) * dynamiq::kGroups + i / kGroup;
    return (step.permutations[group * step.workers + worker] + own) / step.workers;
  }
  // Returns byte b of a super-group.
  static LEGACY_DEVICE uint32_t ByteOf(const Shared& shared, int bits, uint32_t unit, int b) {
    const int of_group = 2 * bits + 1, group = b / of_group;
    if (group >= dynamiq::kGroups)
      return unit >> 8 * (b - static_cast<int>(dynamiq::kGroups) * of_group) & 0xFF;
    const int in_group = b % of_group;
    if (in_group == 2 * bits) return shared.scales[group];
    const int codes = 8 / bits;  // of a byte
    uint32_t packed = 0;
    for (int j = 0; j < codes; ++j) {
      packed |= static_cast<uint32_t>(shared.codes[group * kGroup + in_group * codes + j])
                << j * bits;
    }
    return packed;
  }
};

struct DynamiqEncode {
  static constexpr int kThreads = DynamiqCoder::kThreads;
  struct Args {
    DynamiqStep step;
    const float* values;    // of worker 0, in flat buffers
    int64_t values_stride;  // floats from a worker to the next
    const int32_t* active;  // workers of the slots
    std::byte* messages;    // of the first slot
    int64_t stride;         // bytes from a slot to the next
    int64_t supers;         // of all units
  };
  using Shared = DynamiqCoder::Shared;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DynamiqStep& step = args.step;
    const int64_t slot = block.index() / args.supers, at = block.index() % args.supers;
    const DynamiqUnit& unit = step.units[FindSegment(step.first, step.count, at)];
    const DynamiqPlace& place = step.places[at];
    const int32_t worker = args.active[slot];
    float* const own = step.own + worker * step.own_stride + at * dynamiq::kSuper;
    typename Block::template PerThread<float> values;
    block.ForEachThread([&](int thread) {
      const int64_t i = place.super * dynamiq::kSuper + thread;
      const float* const flat = args.values + worker * args.values_stride + unit.extent.offset;
      values[thread] = i < unit.extent.length ? flat[i] - place.mean : 0.0f;
      own[thread] = values[thread];
    });
    DynamiqCoder::Encode(block, step, unit, at - unit.first, worker, values,
                         args.messages + slot * args.stride + unit.payload + place.offset);
  }
};

// Runs a block for each place of each hop.
struct DynamiqAddHop {
  static constexpr int kThreads = DynamiqCoder::kThreads;
  struct Args {
    DynamiqStep step;
    const DynamiqHop* hops;
    const int64_t* first;  // places before each hop; count + 1 entries
    int32_t count;
    const std::byte* messages;
    const std::byte* sums;
    std::byte* out;
    uint32_t* overflows;  // of each unit, becomes 1 if a sum has NaN or infinities
  };
  using Shared = DynamiqCoder::Shared;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DynamiqStep& step = args.step;
    const int32_t h = FindSegment(args.first, args.count, block.index());
    const DynamiqHop& hop = args.hops[h];
    const DynamiqUnit& unit = step.units[hop.unit];
    const int64_t number = hop.place + block.index() - args.first[h];
    const DynamiqPlace& place = step.places[unit.first + number];
    float* const own =
        step.own + hop.worker * step.own_stride + (unit.first + number) * dynamiq::kSuper;
    typename Block::template PerThread<float> sums;
    block.ForEachThread([&](int thread) {
      float sum = own[thread];
      if (hop.input == HopInput::kZeros) sum = 0.0f + sum;
      if (hop.input == HopInput::kMessage || hop.input == HopInput::kSum) {
        const std::byte* const in =
            (hop.input == HopInput::kMessage ? args.messages : args.sums) + hop.in + place.offset;
        sum = DynamiqCoder::Decode(step, place.bits, in, thread) + sum;
      }
      sums[thread] = sum;
      if (hop.sends == 0) own[thread] = sum;
      if (hop.sends != 0 && !cpu::IsFinite(sum)) {
        block.AtomicOr(&args.overflows[unit.number], 1u);
      }
    });
    if (hop.sends == 0) return;
    DynamiqCoder::Encode(block, step, unit, number, hop.worker, sums,
                         args.out + hop.out + place.offset);
  }
};

struct DynamiqGather {
  static constexpr int kThreads = DynamiqCoder::kThreads;
  struct Args {
    DynamiqStep step;
    const DynamiqHop* hops;  // of the last round, whose `out` is read
    const int64_t* first;
    int32_t count;
    const std::byte* sums;
    float workers;  // that are active
    float* mean;    // flat buffer
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DynamiqStep& step = args.step;
    const int32_t h = FindSegment(args.first, args.count, block.index());
    const DynamiqHop& hop = args.hops[h];
    const DynamiqUnit& unit = step.units[hop.unit];
    const int64_t number = hop.place + block.index() - args.first[h];
    const DynamiqPlace& place = step.places[unit.first + number];
    block.ForEachThread([&](int thread) {
      const int64_t i = place.super * dynamiq::kSuper + thread;
      if (i >= unit.extent.length) return;
      const float sum =
          DynamiqCoder::Decode(step, place.bits, args.sums + hop.out + place.offset, thread);
      args.mean[unit.extent.offset + i] = sum / args.workers + place.mean;
    });
  }
};

// Writes the statistics of one worker.
template <class Device>
void LaunchDynamiqStatistics(Device& device, int64_t supers, const DynamiqStatistics::Args& args) {
  device.template Launch<DynamiqStatistics>(TilesOf(supers, DynamiqStatistics::kThreads), args);
}
// Draws the permutations, and writes the messages of all slots.
template <class Device>
void LaunchDynamiqEncode(Device& device, int64_t slots, const DynamiqEncode::Args& args) {
  device.template Launch<DynamiqDraw>(TilesOf(args.supers, DynamiqDraw::kThreads), {args.step});
  device.template Launch<DynamiqEncode>(args.supers * slots, args);
}
// Runs a round of hops, with so many places in all.
template <class Device>
void LaunchDynamiqHops(Device& device, int64_t places, const DynamiqAddHop::Args& args) {
  device.template Launch<DynamiqAddHop>(places, args);
}
template <class Device>
void LaunchDynamiqGather(Device& device, int64_t places, const DynamiqGather::Args& args) {
  device.template Launch<DynamiqGather>(places, args);
}

}  // namespace legacy::cuda
