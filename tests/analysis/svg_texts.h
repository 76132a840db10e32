// Texts of an SVG that gnuplot drew, with their positions.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace legacy::analysis {

struct SvgText {
  std::string text;
  // Position of the text's anchor, in points from the left and from the top.
  double x = 0;
  double y = 0;
};

struct SvgTexts {
  double width = 0;
  double height = 0;
  std::vector<SvgText> texts;

  explicit SvgTexts(const std::string& svg) {
    std::smatch size;
    std::regex_search(svg, size, std::regex(R"re(viewBox="0 0 (\d+) (\d+)")re"));
    width = std::stod(size[1]);
    height = std::stod(size[2]);
    const std::regex one(
        R"(translate\(([-\d.]+),([-\d.]+)\)[^>]*>\s*<text>(?:<tspan[^>]*>)?([^<]*))");
    for (std::sregex_iterator it(svg.begin(), svg.end(), one), end; it != end; ++it) {
      texts.push_back({(*it)[3], std::stod((*it)[1]), std::stod((*it)[2])});
    }
  }

  // Returns how many times the picture shows the text; texts outside of the picture do not count.
  size_t Count(const std::string& text) const {
    size_t count = 0;
    for (const SvgText& one : texts) {
      const bool inside = one.x >= 0 && one.x < width && one.y >= 8 && one.y < height;
      count += inside && one.text == text ? 1 : 0;
    }
    return count;
  }
};

}  // namespace legacy::analysis
