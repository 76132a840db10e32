// The operations (operations.h) of a StreamDevice: calls of X.h alone.
#pragma once

#include <cstdint>

#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/exchange/operations.h"
#include "compress/cuda/exchange/powersgd.h"
#include "compress/cuda/kernels/selection/dgc.h"
#include "compress/cuda/kernels/selection/entries.h"
#include "compress/cuda/kernels/selection/random_subset.h"
#include "compress/cuda/kernels/selection/sampled.h"
#include "compress/cuda/kernels/selection/sparse_sum.h"
#include "compress/cuda/kernels/selection/threshold.h"
#include "compress/cuda/kernels/selection/topk.h"
#include "compress/cuda/kernels/transforms/spectrum.h"
#include "compress/cuda/kernels/vector.h"

namespace legacy::cuda {

template <>
class Operations<StreamDevice> {
 public:
  using Segmented = DeviceSegments<StreamDevice>;

  explicit Operations(StreamDevice device) : device_(device) {}
  StreamDevice& device() { return device_; }

  void SelectTopK(const Segmented& table, const TopKArrays& arrays, int64_t kept) {
    const size_t bytes = TopKWorkspaceBytes(*table, kept);
    cuda::SelectTopK(*table, table.view(), arrays, kept, scratch_.Reserve(bytes), bytes, stream());
  }
  void SelectAtLeast(const Segmented& table, const ThresholdArrays& arrays) {
    const size_t bytes = ThresholdWorkspaceBytes(*table, arrays.capacity);
    cuda::SelectAtLeast(*table, table.view(), arrays, scratch_.Reserve(bytes), bytes, stream());
  }
  void DrawRandomSubsets(const DeviceSubsets<StreamDevice>& table, const RandomKey* keys,
                         uint32_t* positions) {
    const size_t bytes = RandomSubsetWorkspaceBytes(*table);
    cuda::DrawRandomSubsets(*table, table.view(), keys, positions, scratch_.Reserve(bytes), bytes,
                            stream());
  }
  void TakeSubsets(const DeviceSubsets<StreamDevice>& table, const uint32_t* positions, float* flat,
                   bool clear, float* values, uint32_t* non_finite) {
    cuda::TakeSubsets(*table, table.view(), positions, flat, clear, values, non_finite, stream());
  }
  void TakeSamples(const Segmented& table, const SampledElements* elements, const float* values,
                   float* samples) {
    cuda::TakeSamples(*table, table.view(), elements, values, samples, stream());
  }
  void SmallestMagnitudes(const Segmented& table, const float* values, float* smallest) {
    cuda::SmallestMagnitudes(*table, table.view(), values, smallest, stream());
  }
  void CountAtLeast(const Segmented& table, const float* values, const float* thresholds,
                    uint32_t* counts, uint32_t* non_finite) {
    cuda::CountAtLeast(*table, table.view(), values, thresholds, counts, non_finite, stream());
  }

  void SelectSpectrum(const DeviceSpectra<StreamDevice>& table, const SpectrumArrays& arrays) {
    const size_t bytes = SpectrumWorkspaceBytes(*table);
    cuda::SelectSpectrum(*table, table.view(), arrays, scratch_.Reserve(bytes), bytes, stream());
  }
  void InvertSpectra(const DeviceSpectra<StreamDevice>& table, const InverseArrays& arrays) {
    const size_t bytes = InverseWorkspaceBytes(*table, arrays.workers);
    cuda::InvertSpectra(*table, table.view(), arrays, scratch_.Reserve(bytes), bytes, stream());
  }

  void Quantise(const DeviceQuantiser<StreamDevice>& table, const QuantiseArrays& arrays) {
    const size_t bytes = QuantiseWorkspaceBytes(*table);
    cuda::Quantise(*table, table.view(), arrays, scratch_.Reserve(bytes), bytes, stream());
  }
  void DequantiseAdd(const DeviceQuantiser<StreamDevice>& table, const DequantiseArrays& arrays) {
    cuda::DequantiseAdd(*table, table.view(), arrays, stream());
  }
  void WriteMessages(const DeviceMessages<StreamDevice>& table, const uint32_t* positions,
                     const std::byte* values, std::byte* out) {
    cuda::WriteMessages(*table, table.view(), positions, values, out, stream());
  }
  void ReadMessages(const DeviceMessages<StreamDevice>& table, const ReadArrays& arrays) {
    const size_t bytes = ReadMessagesWorkspaceBytes(*table);
    cuda::ReadMessages(*table, table.view(), arrays, scratch_.Reserve(bytes), bytes, stream());
  }

  void PutEntries(Segments segments, const PackedLists& lists, int64_t most, float* flat) {
    cuda::PutEntries(segments, lists, most, flat, stream());
  }
  void MoveEntries(int32_t count, const PackedLists& from, const MovedEntries& to, int64_t most) {
    cuda::MoveEntries(count, from, to, most, stream());
  }
  void Enumerate(const Segmented& table, uint32_t* positions) {
    cuda::Enumerate(*table, table.view(), positions, stream());
  }
  void ClearSelected(Segments segments, const PackedLists& lists, int64_t most, float* values) {
    cuda::ClearSelected(segments, lists, most, values, nullptr, stream());
  }
  void AccumulateMomentum(const Segmented& table, const MomentumArrays& arrays,
                          const MomentumOptions& options) {
    cuda::AccumulateMomentum(*table, table.view(), arrays, options, stream());
  }
  void SumSparse(const Segmented& table, const PackedLists& lists, const SparseSumOptions& options,
                 float* sum) {
    cuda::SumSparse(*table, table.view(), lists, options, sum, stream());
  }
  void FindLargest(const Segmented& table, const float* values, uint32_t* largest,
                   uint32_t* first_non_finite) {
    cuda::FindLargest(*table, table.view(), values, largest, first_non_finite, stream());
  }
  void SquaredNorms(const Segmented& table, const float* values, double* squares) {
    const size_t bytes = SumsWorkspaceBytes(*table);
    cuda::SquaredNorms(*table, table.view(), values, squares, scratch_.Reserve(bytes), bytes,
                       stream());
  }
  void ClipFactors(const double* squares, float* factors, int32_t workers, double limit) {
    cuda::ClipFactors(squares, factors, workers, limit, stream());
  }
  void Add(const float* values, float* sum, int64_t n) { cuda::Add(values, sum, n, stream()); }
  void Scale(float* values, float factor, int64_t n) { cuda::Scale(values, factor, n, stream()); }

 private:
  Stream stream() const { return device_.stream(); }

  StreamDevice device_;
  ScratchMemory<StreamDevice> scratch_;
};

inline std::unique_ptr<DeviceExchange> OpenPowerSgd(StreamDevice device,
                                                    const PowerSgdScheme& scheme,
                                                    std::span<const Unit> units, int workers) {
  return OpenPowerSgd(device.stream(), scheme, units, workers);
}

}  // namespace legacy::cuda
