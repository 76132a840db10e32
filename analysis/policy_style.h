// How a policy looks in every figure of a study or run: colour, mark and dashes by its position in
// the list of policies, so that a policy looks the same wherever it is drawn.
//
// Colours are Okabe and Ito's, which colour-blind readers tell apart ("Color Universal Design",
// 2008), with Tol's wine ("Colour Schemes", 2021) instead of yellow, which is too pale on white.
// Marks differ as well, and dashes from the ninth policy on: 64 different pairs of colour and mark.
#pragma once

#include <array>
#include <cstddef>

namespace legacy::analysis {

struct PolicyStyle {
  const char* colour;  // "#RRGGBB"
  const char* mark;    // for people and for the interactive page: circle, square, ...
  int point_type;      // the mark in gnuplot's svg and cairo terminals
  int dashes;          // gnuplot's dash types: 1 solid, 2 dashed, 4 dash-dot
};

inline constexpr std::array<const char*, 8> kPolicyColours = {
    "#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#882255"};

inline PolicyStyle StyleOfPolicy(size_t position) {
  struct Mark {
    const char* name;
    int point_type;
  };
  // Open upright triangles are left to trainings that never reached their target.
  constexpr std::array<Mark, 8> kMarks = {{{"circle", 7},
                                           {"square", 5},
                                           {"triangle", 9},
                                           {"triangle-down", 11},
                                           {"diamond", 13},
                                           {"pentagon", 15},
                                           {"open-square", 4},
                                           {"open-circle", 6}}};
  constexpr std::array<int, 3> kDashes = {1, 2, 4};
  const size_t round = position / kPolicyColours.size();
  const Mark& mark = kMarks[(position + round) % kMarks.size()];
  return {kPolicyColours[position % kPolicyColours.size()], mark.name, mark.point_type,
          kDashes[round % kDashes.size()]};
}

}  // namespace legacy::analysis
