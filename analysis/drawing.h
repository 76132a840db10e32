// All gnuplot scripts share these texts, units, and the three formats of a picture.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace legacy::analysis {

// An axis is logarithmic where the greatest value is more than this many times the least, because a
// linear one would hide the small values.
inline constexpr double kLogRatio = 5;
// Characters of a policy's name that are shown.
inline constexpr size_t kPolicyNameLimit = 30;

struct Unit {
  const char* name;
  double size;
};
inline constexpr std::array<Unit, 4> kTimeUnits = {
    {{"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"h", 3600}}};
inline constexpr std::array<Unit, 5> kByteUnits = {
    {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};

// Returns the largest unit in which `value` is at least 1.
Unit UnitFor(std::span<const Unit> units, double value);

// Return a literal text for gnuplot, without escapes. QuoteTick is for labels of ticks, which
// gnuplot reads as formats of numbers.
std::string Quote(const std::string& text);
std::string QuoteTick(const std::string& text);

// First lines of the scripts of a run's pictures.
inline constexpr const char* kScriptStart =
    "set encoding utf8\n"
    "set border 3 lc rgb '#444444'\n"
    "set tics nomirror out scale 0.7,0.4 textcolor rgb '#222222'\n"
    "set xtics offset 0,0.4\n"
    "set xlabel offset 0,0.3\n"
    "set style line 100 lc rgb '#DDDDDD' lw 0.7\n"
    "set grid back ls 100\n";

// Returns the settings of the heading of a picture of that size, in points: title and subtitle at
// the left, above everything else.
std::string PictureHeading(const std::string& title, const std::string& subtitle, int width,
                           int height);
inline constexpr int kHeadingHeight = 56;
// Returns the first lines of a run's picture: kScriptStart, its heading, and the plot below that.
std::string PictureStart(const std::string& title, const std::string& subtitle, int width,
                         int height);

// Returns the script that draws `plot` once for each format: NAME.svg, NAME.png and NAME.pdf. Sizes
// are in points; the PNG has twice as many pixels.
std::string Output(const std::string& name, int width, int height, const std::string& plot);

// Returns the files that the script of Output() makes.
std::array<std::filesystem::path, 3> OutputFiles(const std::filesystem::path& directory,
                                                 const std::string& name);

// Sets the date in a drawn PDF to a fixed one, so that equal pictures are equal files. A file
// without a date does not change.
void UndatePdf(const std::filesystem::path& pdf);

// Returns whether a picture is there and has its end: gnuplot does not say that a disk was full.
bool IsWholePicture(const std::filesystem::path& picture);

}  // namespace legacy::analysis
