// Distances and delays between places.
#include "ns3-module/fabric/import/geo.h"

#include <gtest/gtest.h>

#include <cmath>

namespace legacy::fabric::geo_test {
namespace {

constexpr Place kNewYork{40.7833, -73.9667};
constexpr Place kWashington{38.897303, -77.026842};
constexpr Place kSeattle{47.60, -122.30};
constexpr Place kSunnyvale{37.38575, -122.02553};

TEST(Geo, KnowsDistancesAndDelays) {
  EXPECT_NEAR(GreatCircleKm(kNewYork, kWashington), 334.99, 0.005);
  EXPECT_NEAR(GreatCircleKm(kSeattle, kSunnyvale), 1135.99, 0.005);
  EXPECT_NEAR(FibreDelay(kNewYork, kWashington, 1) * 1e-6, 1.676, 0.0005);
  EXPECT_NEAR(FibreDelay(kSeattle, kSunnyvale, 1) * 1e-6, 5.684, 0.0005);
  EXPECT_NEAR(FibreDelay(kSeattle, kSunnyvale, 2), 2 * FibreDelay(kSeattle, kSunnyvale, 1), 1);
}

TEST(Geo, HasExactArcs) {
  const double quarter = 6371 * M_PI / 2;
  EXPECT_NEAR(GreatCircleKm({0, 0}, {90, 17}), quarter, 1e-9);
  EXPECT_NEAR(GreatCircleKm({0, -90}, {0, 90}), 2 * quarter, 1e-9);
  EXPECT_NEAR(GreatCircleKm({0, 179}, {0, -179}), 2 * quarter / 90, 1e-9);
  EXPECT_EQ(GreatCircleKm(kSeattle, kSeattle), 0);
  EXPECT_EQ(GreatCircleKm(kSeattle, kNewYork), GreatCircleKm(kNewYork, kSeattle));
}

TEST(Geo, NoLineIsShorterThanFiveMicroseconds) {
  EXPECT_EQ(FibreDelay(kSeattle, kSeattle, 1), 5000);
  EXPECT_EQ(FibreDelay(kSeattle, kNewYork, 0), 5000);
}

TEST(Geo, MiddlesCrossTheDateLine) {
  const Place middle = MiddleOf({{0, 170}, {0, -170}});
  EXPECT_NEAR(middle.latitude, 0, 1e-9);
  EXPECT_NEAR(std::abs(middle.longitude), 180, 1e-9);
  EXPECT_NEAR(MiddleOf({{80, 0}, {80, 180}}).latitude, 90, 1e-6);
  // Two ends of the globe have no middle: the first stands for both.
  EXPECT_EQ(MiddleOf({{0, 0}, {0, 180}}).longitude, 0);
  EXPECT_NEAR(MiddleOf({kSeattle}).latitude, kSeattle.latitude, 1e-9);
}

}  // namespace
}  // namespace legacy::fabric::geo_test
