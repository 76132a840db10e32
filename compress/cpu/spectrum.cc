#include "compress/cpu/spectrum.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "compress/cpu/fft_rules.h"
#include "compress/cpu/vector.h"

namespace legacy::cpu {
namespace {

bool IsReal(const RealFft& fft, int64_t bin) { return 2 * bin % fft.length() == 0; }

LEGACY_INLINE void PowerBody(const float* re, const float* im, int64_t bins, float scale,
                             float* power) {
  for (int64_t k = 0; k < bins; ++k) power[k] = Power({re[k], im[k]}, scale);
}

}  // namespace

SpectrumPlan::SpectrumPlan(int64_t chunk, Simd simd) {
  assert(chunk >= kLeastChunk && chunk <= kMostChunk);
  assert(std::has_single_bit(static_cast<uint64_t>(chunk)));
  for (int64_t length = 1; length < kFastFft; ++length) ffts_.emplace_back(length, simd);
  for (int64_t length = kFastFft; length <= chunk; length *= 2) ffts_.emplace_back(length, simd);
}

const RealFft& SpectrumPlan::Longest(int64_t numel) const {
  if (numel < kFastFft) return ffts_[numel - 1];
  const int doublings = std::bit_width(static_cast<uint64_t>(numel / kFastFft)) - 1;
  return ffts_[std::min<size_t>(kFastFft - 1 + doublings, ffts_.size() - 1)];
}

template <typename Body>
void SpectrumPlan::ForEachPiece(int64_t numel, Body body) const {
  Piece piece = {nullptr, 0, 0};
  while (piece.offset < numel) {
    piece.fft = &Longest(numel - piece.offset);
    body(piece);
    piece.offset += piece.fft->length();
    piece.first_bin += piece.fft->bins();
  }
}

int64_t SpectrumPlan::Bins(int64_t numel) const {
  const RealFft& chunk = ffts_.back();
  int64_t bins = numel / chunk.length() * chunk.bins();
  ForEachPiece(numel % chunk.length(), [&](const Piece& piece) { bins += piece.fft->bins(); });
  return bins;
}

void SpectrumPlan::Forward(std::span<const float> values, float scale, float* re, float* im,
                           float* power) const {
  std::vector<float> scratch(ffts_.back().scratch_size());
  ForEachPiece(static_cast<int64_t>(values.size()), [&](const Piece& piece) {
    const RealFft& fft = *piece.fft;
    float* const piece_re = re + piece.first_bin;
    float* const piece_im = im + piece.first_bin;
    float* const piece_power = power + piece.first_bin;
    fft.Forward(values.data() + piece.offset, piece_re, piece_im, scratch.data());
    Dispatch<PowerBody>(fft.simd(), piece_re, piece_im, fft.bins(), scale, piece_power);
    piece_power[0] /= 2;
    if (fft.bins() > 1 && IsReal(fft, fft.bins() - 1)) piece_power[fft.bins() - 1] /= 2;
  });
}

std::vector<float> SpectrumPlan::Weights(int64_t numel, std::span<const uint32_t> positions) const {
  std::vector<float> weights;
  weights.reserve(positions.size());
  ForEachPiece(numel, [&](const Piece& piece) {
    while (weights.size() < positions.size()) {
      const int64_t bin = positions[weights.size()] - piece.first_bin;
      if (bin >= piece.fft->bins()) break;
      weights.push_back(IsReal(*piece.fft, bin) ? 1 : 2);
    }
  });
  return weights;
}

void SpectrumPlan::Inverse(const float* re, const float* im, std::span<float> values) const {
  std::vector<float> scratch(ffts_.back().scratch_size());
  ForEachPiece(static_cast<int64_t>(values.size()), [&](const Piece& piece) {
    piece.fft->Inverse(re + piece.first_bin, im + piece.first_bin, values.data() + piece.offset,
                       scratch.data());
  });
}

void SpectrumPlan::InverseAdd(std::span<const uint32_t> positions,
                              std::span<const float> coefficients, std::span<float> sum) const {
  assert(coefficients.size() == 2 * positions.size());
  const RealFft& longest = ffts_.back();
  std::vector<float> re(longest.bins()), im(longest.bins());
  std::vector<float> values(longest.length()), scratch(longest.scratch_size());
  size_t next = 0;
  ForEachPiece(static_cast<int64_t>(sum.size()), [&](const Piece& piece) {
    const RealFft& fft = *piece.fft;
    const int64_t end = piece.first_bin + fft.bins();
    // No bin of this piece was sent.
    if (next == positions.size() || positions[next] >= end) return;
    std::fill_n(re.begin(), fft.bins(), 0.0f);
    std::fill_n(im.begin(), fft.bins(), 0.0f);
    for (; next < positions.size() && positions[next] < end; ++next) {
      const int64_t bin = positions[next] - piece.first_bin;
      re[bin] = coefficients[2 * next];
      im[bin] = coefficients[2 * next + 1];
    }
    fft.Inverse(re.data(), im.data(), values.data(), scratch.data());
    Add(std::span(values).first(fft.length()), sum.subspan(piece.offset, fft.length()));
  });
}

}  // namespace legacy::cpu
