#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/message_of.h"

namespace legacy::units_test {
namespace {

TEST(Units, ParsesEveryUnit) {
  EXPECT_EQ(ParseRate("1Gbps", "rate"), 1'000'000'000);
  EXPECT_EQ(ParseRate("1 Gbit/s", "rate"), 1'000'000'000);
  EXPECT_EQ(ParseRate("400Mbps", "rate"), 400'000'000);
  EXPECT_EQ(ParseRate("9600bps", "rate"), 9600);
  EXPECT_EQ(ParseRate("2.5e3Mbps", "rate"), 2'500'000'000);
  EXPECT_EQ(ParseTime("10us", "delay"), 10'000);
  EXPECT_EQ(ParseTime("50 ms", "delay"), 50'000'000);
  EXPECT_EQ(ParseTime("1.5s", "delay"), 1'500'000'000);
  EXPECT_EQ(ParseTime("0ns", "delay"), 0);
  EXPECT_EQ(ParseBytes("44.7MB", "bucket"), 44'700'000);
  EXPECT_EQ(ParseBytes("64KiB", "bucket"), 65536);
  EXPECT_EQ(ParseBytes("1500B", "bucket"), 1500);
  EXPECT_EQ(ParseBytes("1500", "bucket"), 1500);
}

TEST(Units, RefusesWhatHasNoMeaning) {
  for (const char* text : {"", "fast", "10", "2.5e9", "0Gbps", "-1Gbps", "1 GB", "1Gbps ", "nan",
                           "inf", "1e30Gbps", "1001Tbps"}) {
    EXPECT_NE(MessageOf([&] { ParseRate(text, "host.rate"); }).find("host.rate: got '"),
              std::string::npos)
        << text;
  }
  for (const char* text : {"10", "-1us", "1 minute"}) {
    EXPECT_NE(MessageOf([&] { ParseTime(text, "delay"); }).find("allowed: a time"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(MessageOf([] { ParseBytes("3Mb", "queue"); }),
            "queue: got '3Mb'; allowed: a size from 0 to 64 TiB such as 1500B, 64KiB or 44.7MB");
}

TEST(Units, FormatsForPeople) {
  EXPECT_EQ(FormatRate(1'000'000'000), "1 Gbit/s");
  EXPECT_EQ(FormatRate(56'000), "56 kbit/s");
  EXPECT_EQ(FormatTime(10'000), "10 us");
  EXPECT_EQ(FormatTime(0), "0 ns");
  EXPECT_EQ(FormatBytes(44'700'000), "44.7 MB");
}

TEST(Units, TimesThatDoNotFitAreRefusedWithOneMessage) {
  const std::string message = MessageOf([] { Later(kNever - 5, 5); });
  EXPECT_NE(message.find("simulated time: got 'more than 292 years'"), std::string::npos);
  EXPECT_EQ(Later(kNever - 6, 5), kNever - 1);
  EXPECT_EQ(MessageOf([] { Later(kNever - 5, kNever - 5); }), message);
  EXPECT_EQ(MessageOf([] { RoundedTime(1e19); }), message);
  EXPECT_EQ(MessageOf([] { RoundedTime(std::nan("")); }), message);
  for (const double time :
       {2.5, 3.5, -2.5, 0.49999999999999994, -0.5, 4503599627370497.5, 9.1e18}) {
    EXPECT_EQ(RoundedTime(time), std::llround(time)) << time;
  }
  EXPECT_EQ(MessageOf([] { NarrowTime(WideTime{kNever}); }), message);
  EXPECT_EQ(MessageOf([] { SerialisationTime(10'000'000'000, 1); }), message);
  EXPECT_EQ(SerialisationTime(1'000'000'000, 1), 8'000'000'000'000'000'000);
}

TEST(Units, SerialisationRoundsUpAndDoesNotOverflow) {
  EXPECT_EQ(SerialisationTime(1500, 1'000'000'000), 12'000);
  EXPECT_EQ(SerialisationTime(1, 3'000'000'000), 3);  // 2.67 ns, rounded up
  EXPECT_EQ(SerialisationTime(0, 1), 0);
  EXPECT_EQ(SerialisationTime(int64_t{1} << 40, 1'000'000'000), (int64_t{1} << 40) * 8);
}

}  // namespace
}  // namespace legacy::units_test