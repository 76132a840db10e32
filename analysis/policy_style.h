// A method has the same style in every picture, figure and page of every run. Colour, mark and
// dashes belong to its name, and not to its place in a list.
//
// A name is read by its words ("legacy-layer-qsgd"). Colour and mark are those of the policy that
// it names, else those of its codec; dashes tell families of codecs apart. The style of a name
// without a known word follows from its letters.
//
// Colours are Okabe and Ito's, which colour-blind readers tell apart ("Color Universal Design",
// 2008), with Tol's wine and indigo ("Colour Schemes", 2021) instead of yellow, which is too pale
// on white.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace legacy::analysis {

struct PolicyStyle {
  const char* colour;  // "#RRGGBB"
  const char* mark;    // name for people and for the interactive page: circle, square, ...
  int point_type;      // number of the mark in gnuplot's svg and cairo terminals
  int dashes;          // gnuplot's dash type: 1 solid, 2 dashed, 3 dotted, 4 and 5 dash and dots
};

inline constexpr std::array<const char*, 9> kPolicyColours = {"#000000", "#E69F00", "#0072B2",
                                                              "#009E73", "#D55E00", "#56B4E9",
                                                              "#CC79A7", "#882255", "#332288"};

// Returns the styles of a list's members, in its order. Where two would look the same, the later
// one takes another mark. No two of 40 names in a list look the same.
std::vector<PolicyStyle> StylesOf(const std::vector<std::string>& names);

// Families of methods, in the order in which figures show them.
inline constexpr std::array<const char*, 7> kFamilies = {
    "baselines", "sparsifiers", "adaptive sparsifiers", "quantisers", "low rank",
    "frequency", "others"};

// Returns the position in kFamilies of the family that the name's words tell.
size_t FamilyOf(const std::string& name);

}  // namespace legacy::analysis
