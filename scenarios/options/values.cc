#include "scenarios/options/values.h"

#include <array>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {}  // namespace

fabric::Synchronisation ParseSync(const std::string& text, const std::string& key) {
  return {text, key};
}

std::optional<fabric::CollectiveAlgorithm> ParseAllReduce(const std::string& text,
                                                          const std::string& key) {
  return ParseAlgorithm(text, key, Collective::kAllReduce);
}

std::optional<fabric::CollectiveAlgorithm> ParseAllGather(const std::string& text,
                                                          const std::string& key) {
  return ParseAlgorithm(text, key, Collective::kAllGather);
}

std::optional<TimeNs> ParsePeriod(const std::string& text, const std::string& key) {
  if (text == "off") return std::nullopt;
  try {
    return ParseTime(text, key);
  } catch (const Error&) {
    throw Error(key, text, "off, or a wall time such as 30s, 10min or 2h");
  }
}

std::optional<Launches> ParseLaunchesOption(const std::string& text, const std::string& key) {
  if (ParseChoice(text, key, {"profile", "fused", "per-layer"}) == "profile") return std::nullopt;
  return ParseLaunches(text, key);
}

TextPart ParseTextPart(const std::string& text, const std::string& key) {
  constexpr std::array kNames = {"test", "validation"};
  return ParseChoice<TextPart>(text, key, kNames);
}

std::optional<Augmentation> ParseAugment(const std::string& text, const std::string& key) {
  if (text == "auto") return std::nullopt;
  if (text == "off") return Augmentation::kNone;
  if (text == "crop") return Augmentation::kCrop;
  if (text == "reflect-crop") return Augmentation::kReflectCrop;
  throw Error(key, text, "auto, off, crop or reflect-crop");
}

WeightRule ParseInit(const std::string& text, const std::string& key) {
  constexpr std::array kNames = {"model", "torch"};
  return ParseChoice<WeightRule>(text, key, kNames);
}

Precision ParseReduce(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"fp32", "bf16", "fp16"});
  return ParsePrecision(text, key);
}

SumRule ParseSum(const std::string& text, const std::string& key) {
  constexpr std::array kNames = {"exact", "hop"};
  return ParseChoice<SumRule>(text, key, kNames);
}

}  // namespace legacy
