// Operations are the launches of X_kernels.h with the scratch memory that they need. They are how
// exchanges call kernels, on any device.
//
//   Operations<Device> on(device);
//   on.SelectTopK(table, arrays, kept);
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/dynamiq_kernels.h"
#include "compress/cuda/kernels/coding/hop_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"
#include "compress/cuda/kernels/coding/read_message_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"
#include "compress/cuda/kernels/selection/blocks_kernels.h"
#include "compress/cuda/kernels/selection/dgc_kernels.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"
#include "compress/cuda/kernels/selection/random_subset_kernels.h"
#include "compress/cuda/kernels/selection/sampled_kernels.h"
#include "compress/cuda/kernels/selection/sparse_sum_kernels.h"
#include "compress/cuda/kernels/selection/subset_table.h"
#include "compress/cuda/kernels/selection/threshold_kernels.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"
#include "compress/cuda/kernels/transforms/arc_kernels.h"
#include "compress/cuda/kernels/transforms/dct_kernels.h"
#include "compress/cuda/kernels/transforms/eden_kernels.h"
#include "compress/cuda/kernels/transforms/inverse_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_table.h"
#include "compress/cuda/kernels/transforms/thc_kernels.h"
#include "compress/cuda/kernels/vector_kernels.h"

namespace legacy::cuda {

template <class Device>
using DeviceSegments = DeviceTable<Device, SegmentTable>;
template <class Device>
using DeviceQuantiser = DeviceTable<Device, QuantiserTable>;
template <class Device>
using DeviceMessages = DeviceTable<Device, MessageTable>;
template <class Device>
using DeviceSubsets = DeviceTable<Device, SubsetTable>;
template <class Device>
using DeviceSpectra = DeviceTable<Device, SpectrumTable>;
template <class Device>
using DeviceDct = DeviceTable<Device, DctTable>;
template <class Device>
using DeviceEden = DeviceTable<Device, EdenTable>;
template <class Device>
using DeviceArc = DeviceTable<Device, ArcTable>;
template <class Device>
using DeviceBlocks = DeviceTable<Device, BlocksTable>;
template <class Device>
using DeviceThc = DeviceTable<Device, ThcUnitTable>;

// Operations queue work on a device and return.
template <class Device>
class Operations {
 public:
  using Segmented = DeviceSegments<Device>;

  explicit Operations(Device device) : device_(std::move(device)) {}
  Device& device() { return device_; }

  void SelectTopK(const Segmented& table, const TopKArrays& arrays, int64_t kept) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutTopK(*table, table.view(), arrays, kept, workspace);
    });
    LaunchTopK(device_, job, table->count(), table->tiles());
  }
  void SelectAtLeast(const Segmented& table, const ThresholdArrays& arrays) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutThreshold(*table, table.view(), arrays, workspace);
    });
    LaunchThreshold(device_, job, *table);
  }
  void DrawRandomSubsets(const DeviceSubsets<Device>& table, const RandomKey* keys,
                         uint32_t* positions) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutSubsets(*table, table.view(), keys, positions, workspace);
    });
    LaunchSubsets(device_, *table, job);
  }
  void TakeSubsets(const DeviceSubsets<Device>& table, const uint32_t* positions, float* flat,
                   bool clear, float* values, uint32_t* non_finite) {
    LaunchTake(device_, *table, table.view(), positions, flat, clear, values, non_finite);
  }
  void TakeSamples(const Segmented& table, const SampledElements* elements, const float* values,
                   float* samples) {
    LaunchTakeSamples(device_, *table, table.view(), elements, values, samples);
  }
  void SmallestMagnitudes(const Segmented& table, const float* values, float* smallest) {
    LaunchSmallestMagnitudes(device_, *table, table.view(), values, smallest);
  }
  void CountAtLeast(const Segmented& table, const float* values, const float* thresholds,
                    uint32_t* counts, uint32_t* non_finite) {
    LaunchCountAtLeast(device_, *table, table.view(), values, thresholds, counts, non_finite);
  }

  void SelectSpectrum(const DeviceSpectra<Device>& table, const SpectrumArrays& arrays) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutSpectrum(*table, table.view(), arrays, workspace);
    });
    LaunchSpectrum(device_, *table, job);
  }
  void InvertSpectra(const DeviceSpectra<Device>& table, const InverseArrays& arrays) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutInverse(*table, table.view(), arrays, workspace);
    });
    LaunchInverse(device_, *table, job);
  }

  void EncodeDct(const DeviceDct<Device>& table, const float* values, std::byte* out) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutDct(*table, table.view(), values, out, workspace);
    });
    LaunchDct(device_, *table, job);
  }
  void SubtractDct(const DeviceDct<Device>& table, const DctReadArrays& arrays) {
    LaunchDctSubtract(device_, *table, table.view(), arrays);
  }
  void DecodeDct(const DeviceDct<Device>& table, const DctReadArrays& arrays) {
    LaunchDctDecode(device_, *table, table.view(), arrays);
  }
  // `done` has two zeros for each unit, which are zeros again afterwards.
  void EncodeEden(const DeviceEden<Device>& table, const EdenArrays& arrays, uint32_t* done) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutEden(*table, table.view(), arrays, done, workspace);
    });
    LaunchEden(device_, *table, job);
  }
  void SubtractEden(const DeviceEden<Device>& table, const EdenReadArrays& arrays) {
    LaunchEdenSubtract(device_, *table, table.view(), arrays);
  }
  void DecodeEden(const DeviceEden<Device>& table, const EdenReadArrays& arrays) {
    LaunchEdenDecode(device_, *table, table.view(), arrays);
  }
  void FeedArc(const DeviceArc<Device>& table, const float* gradient, float* values,
               std::byte* messages, uint32_t* non_finite) {
    LaunchArcFeed(device_, *table, table.view(), gradient, values, messages, non_finite);
  }
  void RunArc(const DeviceArc<Device>& table, const ArcArrays& arrays) {
    LaunchArc(device_, *table, table.view(), arrays);
  }
  void EncodeBlocks(const DeviceBlocks<Device>& table, const BlocksArrays& arrays) {
    LaunchBlocksEncode(device_, *table, table.view(), arrays);
  }
  void DecodeBlocks(const DeviceBlocks<Device>& table, const BlocksReadArrays& arrays) {
    LaunchBlocksDecode(device_, *table, table.view(), arrays);
  }
  // `squares` and `largest` are those of one worker.
  void ThcNorms(const DeviceThc<Device>& table, const float* values, double* squares,
                uint32_t* largest) {
    double* const sums =
        LayOut([&](Workspace& workspace) { return LayOutSums(table->segments(), workspace); });
    LaunchThcNorms(device_, *table, table.view(), values, sums, squares, largest);
  }
  void EncodeThc(const DeviceThc<Device>& table, const ThcJob& job) {
    LaunchThcEncode(device_, *table, job);
  }
  void DecodeThc(const DeviceThc<Device>& table, const ThcReadArrays& arrays) {
    LaunchThcDecode(device_, *table, table.view(), arrays);
  }

  void Quantise(const DeviceQuantiser<Device>& table, const QuantiseArrays& arrays) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutQuantise(*table, table.view(), arrays, workspace);
    });
    LaunchQuantise(device_, job, *table);
  }
  void DequantiseAdd(const DeviceQuantiser<Device>& table, const DequantiseArrays& arrays) {
    LaunchDequantise(device_, MakeDequantiseJob(*table, table.view(), arrays), *table);
  }
  void AddHops(const DeviceQuantiser<Device>& table, const HopArrays& arrays) {
    LaunchHops(device_, *table, table.view(), arrays);
  }
  void DynamiqStatistics(int64_t supers, const cuda::DynamiqStatistics::Args& args) {
    LaunchDynamiqStatistics(device_, supers, args);
  }
  void EncodeDynamiq(int64_t slots, const DynamiqEncode::Args& args) {
    LaunchDynamiqEncode(device_, slots, args);
  }
  void AddDynamiqHops(int64_t places, const DynamiqAddHop::Args& args) {
    LaunchDynamiqHops(device_, places, args);
  }
  void GatherDynamiq(int64_t places, const DynamiqGather::Args& args) {
    LaunchDynamiqGather(device_, places, args);
  }
  void ClearOutside(const Segmented& table, const Extent* kept, float* values) {
    LaunchClearOutside(device_, *table, table.view(), kept, values);
  }
  void WriteMessages(const DeviceMessages<Device>& table, const uint32_t* positions,
                     const std::byte* values, std::byte* out) {
    LaunchWriteMessages(device_, *table, table.view(), positions, values, out);
  }
  void ReadMessages(const DeviceMessages<Device>& table, const ReadArrays& arrays) {
    const auto job = LayOut([&](Workspace& workspace) {
      return LayOutReadMessages(*table, table.view(), arrays, workspace);
    });
    LaunchReadMessages(device_, *table, job);
  }

  void PutEntries(Segments segments, const PackedLists& lists, int64_t most, float* flat) {
    LaunchPutEntries(device_, segments, lists, most, flat);
  }
  void MoveEntries(int32_t count, const PackedLists& from, const MovedEntries& to, int64_t most) {
    LaunchMoveEntries(device_, count, from, to, most);
  }
  void Enumerate(const Segmented& table, uint32_t* positions) {
    LaunchEnumerate(device_, *table, table.view(), positions);
  }
  void ClearSelected(Segments segments, const PackedLists& lists, int64_t most, float* values) {
    LaunchClearSelected(device_, segments, lists, most, values, nullptr);
  }
  void AccumulateMomentum(const Segmented& table, const MomentumArrays& arrays,
                          const cpu::MomentumRule& rule) {
    LaunchMomentum(device_, *table, table.view(), arrays, rule);
  }
  void SumSparse(const Segmented& table, const PackedLists& lists, const SparseSumOptions& options,
                 float* sum) {
    LaunchSparseSum(device_, *table, table.view(), lists, options, sum);
  }
  void FindLargest(const Segmented& table, const float* values, uint32_t* largest,
                   uint32_t* first_non_finite) {
    LaunchExtremes(device_, *table, table.view(), values, {largest, first_non_finite});
  }
  void SquaredNorms(const Segmented& table, const float* values, double* squares) {
    double* const sums =
        LayOut([&](Workspace& workspace) { return LayOutSums(*table, workspace); });
    LaunchSums<Square>(device_, *table, table.view(), values, sums, squares);
  }
  void ClipFactors(const double* squares, float* factors, int32_t workers, double limit) {
    LaunchClipFactors(device_, squares, factors, workers, limit);
  }
  void Add(const float* values, float* sum, int64_t n) {
    LaunchMap(device_, AddRule{}, values, sum, n);
  }
  void Copy(const float* values, float* to, int64_t n) {
    LaunchMap(device_, CopyRule{}, values, to, n);
  }
  void Scale(float* values, float factor, int64_t n) {
    LaunchMap(device_, ScaleRule{factor}, values, values, n);
  }

 private:
  // Returns layout(workspace), with a workspace that is large enough.
  template <class Layout>
  auto LayOut(Layout layout) {
    const size_t bytes = Workspace::BytesFor(layout);
    if (scratch_.bytes() < bytes) scratch_ = {};  // its contents need not be copied
    scratch_.Reserve(static_cast<int64_t>(bytes));
    Workspace workspace(scratch_.data(), bytes);
    return layout(workspace);
  }

  Device device_;
  DeviceArray<Device, std::byte> scratch_;  // shared by operations, which run one after the other
};

}  // namespace legacy::cuda
