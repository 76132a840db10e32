// A picture of a run, before gnuplot has drawn it.
#pragma once

#include <string>

namespace legacy::analysis {

inline constexpr int kPictureWidth = 960, kPictureHeight = 540;

struct Picture {
  std::string name;    // "metric-time"
  std::string script;  // gnuplot script with its data; writes NAME.svg, .png and .pdf where it runs
};

}  // namespace legacy::analysis
