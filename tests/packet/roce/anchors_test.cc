// Ten results of ASTRA-sim's RDMA model. `legacy-network validate --sections=roce` shows them next
// to ours.
#include <gtest/gtest.h>

#include <cstdio>

#include "helper/roce-anchors.h"

namespace legacy::packet_test::anchors_test {
namespace {

TEST(RoceAnchors, AreAstraSims) {
  for (const fabric::RoceAnchor& anchor : fabric::RoceAnchors()) {
    const fabric::RoceAnchorResult ours = fabric::RunRoceAnchor(anchor);
    EXPECT_TRUE(ours.Holds(anchor))
        << anchor.name << ": " << ours.time << " ns, not " << anchor.published << "; "
        << ours.pauses << " pauses, not " << anchor.pauses << "; " << ours.drops << " drops";
  }
}

}  // namespace
}  // namespace legacy::packet_test::anchors_test
