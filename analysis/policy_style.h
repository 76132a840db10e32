// How a policy looks in every figure of a study or run: colour, mark and dashes by its position in
// the list of policies, so that a policy looks the same wherever it is drawn.
//
// Colours are Okabe and Ito's, which colour-blind readers tell apart ("Color Universal Design",
// 2008), without yellow (too pale on white). Marks differ as well, and dashes from the eighth policy
// on: 7 colours and 8 marks make 56 different pairs.
#pragma once

#include <array>
#include <cstddef>

namespace legacy::analysis {

struct PolicyStyle {
  const char* colour;  // "#RRGGBB"
  const char* mark;    // for people and for the interactive page: circle, square, ...
  int filled_mark;     // gnuplot's point types (svg, cairo): filled, and the same outline
  int open_mark;
  int dashes;  // gnuplot's dash types: 1 solid, 2 dashed, 4 dash-dot
};

inline constexpr std::array<const char*, 7> kPolicyColours = {
    "#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"};

inline PolicyStyle StyleOfPolicy(size_t position) {
  struct Mark {
    const char* name;
    int filled;
    int open;
  };
  constexpr std::array<Mark, 8> kMarks = {{{"circle", 7, 6},
                                           {"square", 5, 4},
                                           {"triangle", 9, 8},
                                           {"triangle-down", 11, 10},
                                           {"diamond", 13, 12},
                                           {"open-square", 4, 4},
                                           {"open-circle", 6, 6},
                                           {"open-triangle", 8, 8}}};
  constexpr std::array<int, 3> kDashes = {1, 2, 4};
  const Mark& mark = kMarks[position % kMarks.size()];
  return {kPolicyColours[position % kPolicyColours.size()], mark.name, mark.filled, mark.open,
          kDashes[position / kPolicyColours.size() % kDashes.size()]};
}

}  // namespace legacy::analysis
