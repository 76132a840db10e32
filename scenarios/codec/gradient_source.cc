#include "scenarios/codec/gradient_source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "compress/gradients/gradients.h"
#include "compress/options.h"
#include "scenarios/codec/layer_list.h"

namespace legacy {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they are");

std::vector<float> ReadFloats(const std::string& path) {
  const std::string bytes = ReadWholeFile(path);
  if (bytes.size() % sizeof(float) != 0) {
    throw Error(path + ": length", std::to_string(bytes.size()) + " bytes",
                "a multiple of 4: raw float32 values");
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw Error(path + ": value " + std::to_string(i),
                std::isnan(values[i]) ? "nan"
                : values[i] > 0       ? "inf"
                                      : "-inf",
                "finite numbers");
  }
  return values;
}

// Returns the layers that the user gave; empty: none.
std::vector<Unit> GivenLayers(const GradientOptions& options) {
  if (!options.shape.empty() && !options.layers.empty()) {
    throw Error("--shape", options.shape, "either this or --layers");
  }
  if (!options.shape.empty()) return OneLayer(ParseShape(options.shape, "--shape"));
  if (!options.layers.empty()) return ParseLayers(ReadWholeFile(options.layers), options.layers);
  return {};
}

void CheckLength(const std::string& what, size_t values, const std::vector<Unit>& units) {
  const int64_t elements = ElementsOf(units);
  if (static_cast<int64_t>(values) == elements) return;
  throw Error(what, std::to_string(values) + " values",
              std::to_string(elements) + ", as --shape or --layers has it");
}

// Adds the number of elements to a distribution's text, unless the text has one.
std::string WithLength(const std::string& text, const std::vector<Unit>& units) {
  std::vector<Stage> stages = ParseStages(text);
  if (!units.empty()) stages.front().options.try_emplace("n", std::to_string(ElementsOf(units)));
  return FormatStages(stages);
}

}  // namespace

GradientSource::GradientSource(const GradientOptions& options)
    : units_(GivenLayers(options)),
      workers_(options.workers.value_or(0)),
      steps_(options.steps.value_or(0)) {
  const int sources = !options.files.empty() + !options.real.empty() + !options.drawn.empty();
  if (sources != 1) {
    throw Error::Refusal("gradients: got " + std::to_string(sources) +
                         " sources; allowed: one of files, --gradient and --generate");
  }
  if (!options.files.empty()) TakeFiles(options);
  if (!options.real.empty()) TakeReal(options);
  if (!options.drawn.empty()) TakeDrawn(options);
  if (workers_ == 0) workers_ = kDefaultWorkers;
  if (steps_ == 0) steps_ = 1;
}

void GradientSource::TakeFiles(const GradientOptions& options) {
  for (const std::string& path : options.files) {
    owned_.push_back(ReadFloats(path));
    if (owned_.back().size() != owned_.front().size()) {
      throw Error(path + ": length", std::to_string(owned_.back().size()) + " values",
                  std::to_string(owned_.front().size()) + ", as " + options.files.front() + " has");
    }
    held_.emplace_back(owned_.back());
  }
  const auto length = static_cast<int64_t>(owned_.front().size());
  if (length == 0) throw Error::Refusal(options.files.front() + ": is empty");
  if (units_.empty()) units_ = OneLayer({length});
  const int64_t elements = ElementsOf(units_);
  if (length % elements != 0) {
    throw Error(options.files.front() + ": length", std::to_string(length) + " values",
                "a multiple of the " + std::to_string(elements) + " of --shape or --layers");
  }
  const int64_t held = length / elements;
  if (steps_ == 0) steps_ = held;
  if (held > 1 && steps_ > held) {
    throw Error("--steps", std::to_string(steps_),
                "up to " + std::to_string(held) + ", the steps in the files");
  }
  const auto files = static_cast<int>(options.files.size());
  if (files > 1 && workers_ != 0 && workers_ != files) {
    throw Error("--workers", std::to_string(workers_),
                std::to_string(files) + ": each worker has a file of its own");
  }
  if (files > 1) workers_ = files;
  description_ = options.files.front();
  if (files > 1) description_ += " and " + std::to_string(files - 1) + " more, one for each worker";
}

void GradientSource::TakeReal(const GradientOptions& options) {
  const RealGradient& gradient = FindRealGradient(options.real);
  held_.push_back(gradient.values);
  if (units_.empty()) units_ = ParseLayers(gradient.layers, options.real);
  CheckLength("--gradient=" + options.real, gradient.values.size(), units_);
  description_ = options.real;
}

void GradientSource::TakeDrawn(const GradientOptions& options) {
  drawn_ = WithLength(options.drawn, units_);
  const size_t length = DrawGradient(drawn_).size();
  if (length == 0) throw Error("--generate", options.drawn, "at least one value");
  if (units_.empty()) units_ = OneLayer({static_cast<int64_t>(length)});
  CheckLength("--generate=" + options.drawn, length, units_);
  description_ = options.drawn + ", drawn for each worker";
}

std::vector<std::span<const float>> GradientSource::AtStep(int64_t step) {
  const auto elements = static_cast<size_t>(ElementsOf(units_));
  std::vector<std::span<const float>> gradients;
  if (!drawn_.empty()) {
    owned_.resize(static_cast<size_t>(workers_));
    for (size_t w = 0; w < owned_.size(); ++w) {
      owned_[w] = DrawGradient(drawn_, static_cast<uint32_t>(w), static_cast<uint64_t>(step));
      gradients.emplace_back(owned_[w]);
    }
    return gradients;
  }
  for (int w = 0; w < workers_; ++w) {
    const std::span<const float> all =
        held_[std::min<size_t>(static_cast<size_t>(w), held_.size() - 1)];
    const size_t offset = all.size() == elements ? 0 : static_cast<size_t>(step) * elements;
    gradients.push_back(all.subspan(offset, elements));
  }
  return gradients;
}

}  // namespace legacy
