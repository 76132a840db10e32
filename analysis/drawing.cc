#include "analysis/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace legacy::analysis {

namespace fs = std::filesystem;

Unit UnitFor(std::span<const Unit> units, double value) {
  Unit best = units.front();
  for (const Unit& unit : units) {
    if (value >= unit.size) best = unit;
  }
  return best;
}

std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "'";
}

std::string QuoteTick(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return Quote(doubled);
}

std::string PictureHeading(const std::string& title, const std::string& subtitle, int width,
                           int height) {
  const double left = 12.0 / width;
  return fmt::format(
      "set label {} at screen {:.5f}, screen {:.5f} left font ',15' noenhanced\n"
      "set label {} at screen {:.5f}, screen {:.5f} left font ',11' tc rgb '#555555' noenhanced\n",
      Quote(title), left, 1 - 18.0 / height, Quote(subtitle), left, 1 - 40.0 / height);
}

std::string PictureStart(const std::string& title, const std::string& subtitle, int width,
                         int height) {
  return kScriptStart + PictureHeading(title, subtitle, width, height) +
         fmt::format("set tmargin at screen {:.5f}\n", 1 - double{kHeadingHeight} / height);
}

std::string Output(const std::string& name, int width, int height, const std::string& plot) {
  return fmt::format(
      "do for [format in 'svg png pdf'] {{\n"
      "if (format eq 'svg') {{ set terminal svg size {0},{1} font 'DejaVu Sans,13' linewidth 1.2 "
      "noenhanced background rgb 'white' }}\n"
      "if (format eq 'png') {{ set terminal pngcairo size {2},{3} font 'DejaVu Sans,13' "
      "fontscale 1.6 linewidth 2.2 pointscale 2.2 noenhanced background rgb 'white' }}\n"
      "if (format eq 'pdf') {{ set terminal pdfcairo size {4}in,{5}in font 'DejaVu Sans,13' "
      "fontscale 0.75 linewidth 1.2 pointscale 1 noenhanced background rgb 'white' }}\n"
      "set output '{6}.'.format\n"
      "{7}"
      "unset output\n"
      "}}\n",
      width, height, 2 * width, 2 * height, width / 96.0, height / 96.0, name, plot);
}

std::array<fs::path, 3> OutputFiles(const fs::path& directory, const std::string& name) {
  return {directory / (name + ".svg"), directory / (name + ".png"), directory / (name + ".pdf")};
}

bool IsWholePicture(const fs::path& picture) {
  constexpr std::streamoff kLast = 64;
  std::ifstream file(picture, std::ios::binary | std::ios::ate);
  if (!file) return false;
  file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - kLast));
  const std::string last(std::istreambuf_iterator<char>(file), {});
  const std::string kind = picture.extension();
  const char* const end = kind == ".svg" ? "</svg>" : kind == ".png" ? "IEND" : "%%EOF";
  return last.find(end) != std::string::npos;
}

void UndatePdf(const fs::path& pdf) {
  std::ostringstream content;
  content << std::ifstream(pdf, std::ios::binary).rdbuf();
  const std::string text = content.str();
  const std::string key = "/CreationDate (D:";
  const size_t start = text.rfind(key);
  if (start == std::string::npos) return;
  // The new date is as long as the old one, so that offsets in the file remain valid.
  const std::string date = "20000101000000";
  std::fstream file(pdf, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(start + key.size()));
  file << date;
}

}  // namespace legacy::analysis
