// The embedded image set has 28x28 grey pictures of ten pen-drawn glyphs, which are computed and
// not read from a file. Each picture is a pure function of (split, index): glyph, pen strokes moved
// at random, an affine change, ink, stray strokes, noise. Only IEEE additions, multiplications,
// divisions and square roots are used, so the bits are the same on every machine.
#pragma once

#include <cstdint>

#include "trainer/data/images.h"

namespace legacy {

inline constexpr int kGlyphSide = 28;
inline constexpr int kGlyphClasses = 10;
inline constexpr int64_t kGlyphTrainSamples = 8000;
inline constexpr int64_t kGlyphTestSamples = 2000;
// Statistics of pixel / 255 over the training images.
inline constexpr double kGlyphMean = 0.2258;
inline constexpr double kGlyphStddev = 0.2451;

// Returns the first `samples` pictures of the training or of the test split. Labels are drawn
// uniformly.
ImageSet DrawGlyphs(bool training, int64_t samples);

}  // namespace legacy
