#include "trainer/data/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/random.h"

namespace legacy {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(double s, Point a) { return {s * a.x, s * a.y}; }
double Dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }

// A Stroke is a pen stroke through its end points. Inner points are corners, or the control points
// of a uniform quadratic B-spline. The frame is [-1, 1] x [-1, 1], y downwards.
struct Stroke {
  bool curved = false;
  std::vector<Point> points;
};

using Glyph = std::vector<Stroke>;

// Returns ten digits as a pen draws them. Several share parts (3, 5, 8, 9, 0, 6) so that small
// changes matter.
const std::array<Glyph, kGlyphClasses>& Glyphs() {
  static const std::array<Glyph, kGlyphClasses> glyphs = {{
      {{true, {{0, -1}, {-.75, -.9}, {-.75, .9}, {0, 1}, {.75, .9}, {.75, -.9}, {0, -1}}}},
      {{false, {{-.4, -.6}, {.1, -1}, {.1, 1}}}},
      {{true, {{-.6, -.6}, {-.4, -1.1}, {.7, -1.1}, {.7, -.2}, {-.1, .4}, {-.6, 1}}},
       {false, {{-.6, 1}, {.7, 1}}}},
      {{true, {{-.6, -.8}, {.1, -1.2}, {.8, -.7}, {.5, -.1}, {-.1, 0}}},
       {true, {{-.1, 0}, {.7, 0}, {.8, .8}, {.1, 1.2}, {-.6, .8}}}},
      {{false, {{.2, -1}, {-.7, .3}, {.8, .3}}}, {false, {{.35, -.4}, {.35, 1}}}},
      {{false, {{.6, -1}, {-.5, -1}, {-.55, -.1}}},
       {true, {{-.55, -.1}, {.2, -.5}, {.9, .1}, {.6, 1}, {-.1, 1.1}, {-.6, .8}}}},
      {{true,
        {{.5, -.9}, {-.2, -1.1}, {-.8, 0}, {-.7, 1.1}, {.6, 1.2}, {.8, .2}, {.1, -.3}, {-.6, .3}}}},
      {{false, {{-.6, -1}, {.6, -1}, {-.1, 1}}}},
      {{true, {{0, -.05}, {-.7, -.3}, {-.6, -1.1}, {.6, -1.1}, {.7, -.3}, {0, -.05}}},
       {true, {{0, -.05}, {-.9, .3}, {-.7, 1.1}, {.7, 1.1}, {.9, .3}, {0, -.05}}}},
      {{true, {{.6, -.4}, {.3, .2}, {-.7, .2}, {-.7, -1}, {.3, -1.2}, {.6, -.4}}},
       {true, {{.6, -.4}, {.7, .6}, {.2, 1}, {-.3, 1}}}},
  }};
  return glyphs;
}

// Ranges of the pictures' variations. They are fixed, because they decide how hard the set is, and
// so every published accuracy on it.
constexpr double kMaxHalfAngleTangent = 0.19;  // rotation up to 21.5 degrees either way
constexpr double kMaxShear = 0.3;
constexpr double kMinScale = 5.2;  // pixels for half a frame
constexpr double kMaxScale = 9.5;
constexpr double kMaxShift = 3.0;     // pixels
constexpr double kPointJitter = 0.2;  // frame units, for each point of a stroke
constexpr double kMinPen = 0.45;      // half width, pixels
constexpr double kMaxPen = 1.5;
constexpr double kMinSoftness = 0.6;  // width of the edge, pixels
constexpr double kMaxSoftness = 1.8;
constexpr double kMinInk = 0.4;
constexpr double kMaxPaper = 0.2;
constexpr int kMaxStray = 2;  // stray strokes
constexpr double kMinStrayInk = 0.2;
constexpr double kMaxStrayInk = 0.7;
constexpr double kMaxNoise = 0.25;  // standard deviation of a pixel
constexpr int kSplineSteps = 5;     // straight pieces for one piece of a spline

// Seed of the set. It is part of the set's definition, not of a run.
constexpr uint64_t kGlyphSeed = 0x676C797068;

double Between(RandomStream& random, double low, double high) {
  return low + (high - low) * random.Uniform();
}

// Returns the sum of four uniform draws, centred and scaled: its variance is 1, it is nearly
// normal, and it needs no logarithm or cosine.
double SumOfFour(const uint32_t* draws) {
  double sum = -2;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(draws[i]) * 0x1p-32;
  return sum * 1.7320508075688772;
}

// An Affine maps the frame to pixels: p -> matrix p + shift.
struct Affine {
  Point column_x;
  Point column_y;
  Point shift;
  Point operator()(Point p) const { return p.x * column_x + p.y * column_y + shift; }
};

Affine DrawAffine(RandomStream& random) {
  // cos and sin follow from the tangent of half the angle by rational operations, which are exact
  // everywhere.
  const double t = Between(random, -kMaxHalfAngleTangent, kMaxHalfAngleTangent);
  const double cosine = (1 - t * t) / (1 + t * t);
  const double sine = 2 * t / (1 + t * t);
  const double shear = Between(random, -kMaxShear, kMaxShear);
  const double width = Between(random, kMinScale, kMaxScale);
  const double height = Between(random, kMinScale, kMaxScale);
  const Point centre = {0.5 * (kGlyphSide - 1), 0.5 * (kGlyphSide - 1)};
  const Point shift = {Between(random, -kMaxShift, kMaxShift),
                       Between(random, -kMaxShift, kMaxShift)};
  return {width * Point{cosine, sine}, height * Point{shear * cosine - sine, shear * sine + cosine},
          centre + shift};
}

using Polyline = std::vector<Point>;

// Returns the stroke's straight pieces. A spline starts and ends in its end points and passes
// through the middles between neighbouring control points.
Polyline Flatten(bool curved, const std::vector<Point>& points) {
  if (!curved || points.size() < 3) return points;
  Polyline line = {points.front()};
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    const Point from = line.back();
    const bool last = i + 2 == points.size();
    const Point to = last ? points.back() : 0.5 * (points[i] + points[i + 1]);
    for (int step = 1; step <= kSplineSteps; ++step) {
      const double t = static_cast<double>(step) / kSplineSteps;
      line.push_back((1 - t) * (1 - t) * from + 2 * t * (1 - t) * points[i] + t * t * to);
    }
  }
  return line;
}

std::vector<Polyline> DrawGlyph(const Glyph& glyph, RandomStream& random) {
  const Affine affine = DrawAffine(random);
  std::vector<Polyline> lines;
  for (const Stroke& stroke : glyph) {
    std::vector<Point> points;
    for (Point point : stroke.points) {
      const Point jitter = {Between(random, -kPointJitter, kPointJitter),
                            Between(random, -kPointJitter, kPointJitter)};
      points.push_back(affine(point + jitter));
    }
    lines.push_back(Flatten(stroke.curved, points));
  }
  return lines;
}

// Returns a short curved stroke anywhere in the picture.
Polyline DrawStray(RandomStream& random) {
  std::vector<Point> points;
  points.push_back({Between(random, 0, kGlyphSide), Between(random, 0, kGlyphSide)});
  for (int i = 0; i < 2; ++i) {
    points.push_back(points.back() + Point{Between(random, -7, 7), Between(random, -7, 7)});
  }
  return Flatten(true, points);
}

double SquaredDistance(Point p, Point a, Point b) {
  const Point along = b - a;
  const double length = Dot(along, along);
  const double t = length > 0 ? std::clamp(Dot(p - a, along) / length, 0.0, 1.0) : 0.0;
  const Point gap = p - (a + t * along);
  return Dot(gap, gap);
}

struct Pen {
  double half_width = 1;
  double softness = 1;
  double ink = 1;
};

using Canvas = std::array<double, kGlyphSide * kGlyphSide>;

// Draws a line with full ink within the pen's half width, which fades to none over `softness`.
// Where lines overlap, the stronger ink counts; ink does not add up.
void Draw(const Polyline& line, const Pen& pen, Canvas& canvas) {
  const double reach = pen.half_width + pen.softness;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const auto [left, right] = std::minmax(line[i].x, line[i + 1].x);
    const auto [top, bottom] = std::minmax(line[i].y, line[i + 1].y);
    const int x_end = std::min(kGlyphSide - 1, static_cast<int>(std::floor(right + reach)));
    const int y_end = std::min(kGlyphSide - 1, static_cast<int>(std::floor(bottom + reach)));
    for (int y = std::max(0, static_cast<int>(std::ceil(top - reach))); y <= y_end; ++y) {
      for (int x = std::max(0, static_cast<int>(std::ceil(left - reach))); x <= x_end; ++x) {
        const double square = SquaredDistance({double(x), double(y)}, line[i], line[i + 1]);
        if (square >= reach * reach) continue;
        const double cover = std::min(1.0, (reach - std::sqrt(square)) / pen.softness);
        double& pixel = canvas[static_cast<size_t>(y) * kGlyphSide + x];
        pixel = std::max(pixel, cover * pen.ink);
      }
    }
  }
}

// Draws one picture into `pixels`. Returns its label.
int DrawPicture(RandomStream& random, std::span<uint8_t> pixels) {
  const int label = static_cast<int>(random.Below(kGlyphClasses));
  Canvas canvas{};
  Pen pen;
  pen.half_width = Between(random, kMinPen, kMaxPen);
  pen.softness = Between(random, kMinSoftness, kMaxSoftness);
  const double ink = Between(random, kMinInk, 1);
  pen.ink = ink;
  for (const Polyline& line : DrawGlyph(Glyphs()[static_cast<size_t>(label)], random)) {
    Draw(line, pen, canvas);
  }
  const uint32_t strays = random.Below(kMaxStray + 1);
  for (uint32_t i = 0; i < strays; ++i) {
    pen.ink = ink * Between(random, kMinStrayInk, kMaxStrayInk);
    Draw(DrawStray(random), pen, canvas);
  }
  const double paper = Between(random, 0, kMaxPaper);
  const double noise = Between(random, 0, kMaxNoise);
  std::array<uint32_t, 4 * canvas.size()> draws;
  random.Fill(draws);
  for (size_t i = 0; i < canvas.size(); ++i) {
    const double value = paper + (1 - paper) * canvas[i] + noise * SumOfFour(&draws[4 * i]);
    pixels[i] = static_cast<uint8_t>(255 * std::clamp(value, 0.0, 1.0) + 0.5);
  }
  return label;
}

}  // namespace

ImageSet DrawGlyphs(bool training, int64_t samples) {
  ImageSet set;
  set.channels = 1;
  set.height = kGlyphSide;
  set.width = kGlyphSide;
  const size_t size = static_cast<size_t>(set.image_bytes());
  set.pixels.resize(static_cast<size_t>(samples) * size);
  set.labels.resize(static_cast<size_t>(samples));
  for (size_t i = 0; i < set.labels.size(); ++i) {
    RandomStream random({.seed = kGlyphSeed,
                         .step = i,
                         .worker = training ? 0u : 1u,
                         .layer = 0,
                         .purpose = Purpose::kDataset});
    set.labels[i] =
        static_cast<uint8_t>(DrawPicture(random, std::span(set.pixels).subspan(i * size, size)));
  }
  return set;
}

}  // namespace legacy
