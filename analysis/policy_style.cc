#include "analysis/policy_style.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>

namespace legacy::analysis {
namespace {

enum Colour { kBlack, kOrange, kBlue, kGreen, kVermilion, kSky, kPink, kWine, kIndigo };
enum Mark { kCircle, kSquare, kTriangle, kDown, kDiamond, kPentagon, kOpenSquare, kOpenCircle };
enum Family { kFull, kSparse, kAdaptive, kFewBits, kLowRank, kFrequency, kOthers };

struct MarkForm {
  const char* name;
  int point_type;
};
// Marks of policies. Open upright triangles are not among them, as they mark trainings that never
// reached their target.
constexpr std::array<MarkForm, 8> kMarks = {{{"circle", 7},
                                             {"square", 5},
                                             {"triangle", 9},
                                             {"triangle-down", 11},
                                             {"diamond", 13},
                                             {"pentagon", 15},
                                             {"open-square", 4},
                                             {"open-circle", 6}}};
constexpr std::array<int, 7> kDashesOf = {1, 1, 1, 2, 4, 5, 1};  // dash type of each family
constexpr int kReversedDashes = 3;

struct Stem {
  std::string_view words;
  Colour colour;
  Mark mark;
  Family family = kAdaptive;
  int dashes = 0;  // dash type; 0: the family's
};
// If one stem begins with another, the longer one is first.
constexpr Stem kPolicies[] = {{"legacy-layer", kOrange, kSquare},
                              {"legacy-phase", kWine, kDown},
                              {"legacy-auto", kGreen, kSquare},
                              {"layer", kOrange, kSquare},
                              {"phase", kWine, kDown},
                              {"legacy", kVermilion, kDiamond},
                              {"both", kVermilion, kDiamond},
                              {"lgreco-accordion", kBlue, kOpenCircle},
                              {"lgreco", kGreen, kCircle},
                              {"accordion", kSky, kOpenCircle},
                              {"edgc", kWine, kOpenSquare},
                              {"gravac-dgc", kSky, kPentagon},
                              {"gravac", kIndigo, kPentagon},
                              {"kimad", kBlue, kOpenSquare},
                              {"flexible", kSky, kOpenCircle}};
constexpr Stem kCodecs[] = {{"dense", kBlack, kCircle, kFull},
                            {"fp32", kBlack, kDiamond, kFull},
                            {"fp16", kBlack, kOpenSquare, kFull, 2},
                            {"bf16", kBlack, kOpenCircle, kFull, 4},
                            {"local", kBlack, kPentagon, kFull, 5},
                            {"topk-global", kSky, kSquare, kSparse},
                            {"topk-bucket", kIndigo, kOpenCircle, kSparse},
                            {"topk-as", kIndigo, kTriangle, kSparse},
                            {"topk", kBlue, kTriangle, kSparse},
                            {"ar-topk", kGreen, kPentagon, kSparse},
                            {"flexible-topk", kSky, kOpenCircle, kSparse},
                            {"randomk", kPink, kDown, kSparse},
                            {"dgc", kPink, kPentagon, kSparse},
                            {"redsync", kGreen, kOpenSquare, kSparse},
                            {"sidco", kWine, kCircle, kSparse},
                            {"adacomp", kOrange, kDown, kSparse},
                            {"cat", kVermilion, kOpenSquare, kSparse},
                            {"variance", kWine, kOpenCircle, kSparse},
                            {"ef21", kOrange, kPentagon, kSparse},
                            {"threshold", kOrange, kOpenCircle, kSparse},
                            {"sampled", kVermilion, kPentagon, kSparse},
                            {"qsgd", kPink, kSquare, kFewBits},
                            {"maxmin", kBlue, kSquare, kFewBits},
                            {"terngrad-shared", kSky, kPentagon, kFewBits},
                            {"terngrad", kSky, kDown, kFewBits},
                            {"natural", kIndigo, kDown, kFewBits},
                            {"onebit", kGreen, kSquare, kFewBits},
                            {"ef-sign", kWine, kDiamond, kFewBits},
                            {"signsgd", kVermilion, kCircle, kFewBits},
                            {"sign", kWine, kDiamond, kFewBits},
                            {"powersgd", kPink, kCircle, kLowRank},
                            {"rank", kPink, kCircle, kLowRank},
                            {"arc", kVermilion, kDown, kSparse},
                            {"fft-fp32", kSky, kDiamond, kFrequency},
                            {"fft-uniform", kGreen, kDiamond, kFrequency},
                            {"fft-fp16", kPink, kDiamond, kFrequency},
                            {"fft-bf16", kWine, kDiamond, kFrequency},
                            {"fft", kIndigo, kDiamond, kFrequency},
                            {"theta", kIndigo, kDiamond, kFrequency}};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns the stem whose whole words are the first in the name.
template <size_t kCount>
std::optional<Stem> FirstOf(const Stem (&stems)[kCount], const std::string& name) {
  for (size_t at = 0; at < name.size(); ++at) {
    if (at > 0 && IsWord(name[at - 1])) continue;
    for (const Stem& stem : stems) {
      const size_t end = at + stem.words.size();
      const bool there = name.compare(at, stem.words.size(), stem.words) == 0;
      if (there && (end == name.size() || !IsWord(name[end]))) return stem;
    }
  }
  return std::nullopt;
}

// Returns a style that follows from the name's letters (FNV-1a).
Stem AnyLook(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return {"", static_cast<Colour>(hash % kPolicyColours.size()),
          static_cast<Mark>(hash / 64 % kMarks.size()), kOthers};
}

}  // namespace

size_t FamilyOf(const std::string& name) {
  const std::optional<Stem> policy = FirstOf(kPolicies, name), codec = FirstOf(kCodecs, name);
  if (codec && (!policy || codec->family > kAdaptive)) return codec->family;
  return policy ? kAdaptive : kOthers;
}

std::vector<PolicyStyle> StylesOf(const std::vector<std::string>& names) {
  std::vector<PolicyStyle> styles;
  for (const std::string& name : names) {
    const std::optional<Stem> policy = FirstOf(kPolicies, name), codec = FirstOf(kCodecs, name);
    const Stem look = policy ? *policy : codec ? *codec : AnyLook(name);
    int dashes = look.dashes > 0 ? look.dashes : kDashesOf[FamilyOf(name)];
    if (name.find("reversed") != std::string::npos) dashes = kReversedDashes;
    PolicyStyle style{};
    for (size_t turn = 0; turn < kMarks.size() * 5; ++turn) {
      const MarkForm& mark = kMarks[(look.mark + turn) % kMarks.size()];
      const int turned = 1 + (dashes - 1 + static_cast<int>(turn / kMarks.size())) % 5;
      style = {kPolicyColours[look.colour], mark.name, mark.point_type, turned};
      const auto same = [&](const PolicyStyle& other) {
        return style.colour == other.colour && style.mark == other.mark &&
               style.dashes == other.dashes;
      };
      if (std::ranges::none_of(styles, same)) break;
    }
    styles.push_back(style);
  }
  return styles;
}

}  // namespace legacy::analysis
