// Plans at the limits of their input: one client, a hundred thousand, months, and lines that end.
#include <gtest/gtest.h>

#include "scenarios/federated/plan.h"
#include "scenarios/network/engines/engines.h"
#include "tests/message_of.h"
#include "tests/scenarios/federated/plan_testing.h"

namespace legacy::edges_test {
namespace {

constexpr int64_t kFrame = 1502, kPayload = 1448;

// Seconds of a transfer over a line, headers included.
double Transfer(double bytes, double rate) { return bytes * 8 / rate * kFrame / kPayload; }

int64_t Fate(const PlannedRound& round, fabric::TaskFate fate) {
  return round.row.fates[static_cast<size_t>(fate)];
}

TEST(Edges, OneClientTakesItsTurnsAlone) {
  const Plan plan = RunOf({{"population", "broadband:down=8Mbps,up=4Mbps,delay=1ms"},
                           {"clients", "1"},
                           {"per-round", "1"},
                           {"rounds", "3"},
                           {"elements", "1e6"},
                           {"client-seconds", "5"},
                           {"connections", "warm"}});
  ASSERT_EQ(plan.rounds.size(), 3u);
  const double round = Transfer(4e6, 8e6) + 5 + Transfer(4e6, 4e6);
  for (const PlannedRound& row : plan.rounds) {
    EXPECT_EQ(Fate(row, fabric::TaskFate::Counted), 1);
    // ACKs take up to 3 % of the other way.
    EXPECT_NEAR(InSeconds(row.row.end - row.row.start), round, .03 * round);
  }
  EXPECT_EQ(plan.clients.front().counted, 3);
}

// Two of one house share its line, so that it carries twice as much; those of two houses do not.
TEST(Edges, ClientsOfOneHouseShareItsLine) {
  const auto seconds = [](const std::string& per_line) {
    const Plan plan =
        RunOf({{"population", Write("house.yaml", "clients:\n- {count: 4, per_line: " + per_line +
                                                      ", down: 10Mbps, up: 10Mbps, delay: 1ms}\n")},
               {"per-round", "4"},
               {"rounds", "1"},
               {"elements", "1e6"},
               {"client-seconds", "30"},
               {"connections", "warm"}});
    return InSeconds(plan.rounds.front().row.end) - 30;
  };
  EXPECT_NEAR(seconds("1"), 2 * Transfer(4e6, 10e6), .1);
  EXPECT_NEAR(seconds("2"), 4 * Transfer(4e6, 10e6), .1);
}

TEST(Edges, ADeadlineBeforeAnyDownloadWaitsOrGivesUp) {
  for (const char* deadline : {"0s", "1ms"}) {
    Texts texts = {{"clients", "10"},
                   {"per-round", "5"},
                   {"rounds", "2"},
                   {"elements", "1e6"},
                   {"deadline", deadline}};
    const Plan waits = RunOf(texts);
    ASSERT_EQ(waits.rounds.size(), 2u);
    for (const PlannedRound& round : waits.rounds) {
      EXPECT_TRUE(round.row.extended);
      EXPECT_GE(Fate(round, fabric::TaskFate::Counted), 1);
    }
    texts["short"] = "skip";
    const Plan skips = RunOf(texts);
    EXPECT_EQ(skips.versions, 0);
    EXPECT_EQ(skips.stop, "version 1 does not come: of its tasks so far 500 late") << deadline;
  }
}

TEST(Edges, MonthsAreExact) {
  const auto end = [](const std::string& seconds) {
    const Plan plan = RunOf({{"clients", "3"},
                             {"per-round", "3"},
                             {"rounds", "3"},
                             {"elements", "1000"},
                             {"connections", "warm"},
                             {"client-seconds", seconds}});
    return plan.rounds.back().row.end;
  };
  // 34.7 days: the transfers take as long as without work, to the nanosecond.
  EXPECT_EQ(end("1e6") - end("0"), TimeNs{3'000'000} * 1'000'000'000);
}

TEST(Edges, AHundredThousandClientsAreCounted) {
  const Plan plan = RunOf({{"population", "phones"},
                           {"clients", "100000"},
                           {"server", "async:concurrency=200,buffer=10"},
                           {"rounds", "100"},
                           {"elements", "44426"},
                           {"client-seconds", "6"}});
  EXPECT_EQ(plan.versions, 100);
  int64_t counted = 0, tasks = 0;
  for (const ClientTotals& client : plan.clients) {
    counted += client.counted;
    tasks += client.tasks;
  }
  EXPECT_EQ(plan.clients.size(), 100'000u);
  EXPECT_EQ(counted, 1000);
  EXPECT_GE(tasks, counted);
  EXPECT_LE(tasks, counted + 200);
}

// The server's region has no clients, and all of them are behind one line between two regions.
class TwoRegions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool packets = Fidelities().front() == Fidelity::kPacket;
    if (!packets && GetParam() == std::string("packet")) GTEST_SKIP() << "built without ns-3";
  }
  static Texts Options(const std::string& schedule) {
    return {{"topology", Write("regions.yaml",
                               "type: links\nhosts: [idle]\nswitches: [west, east]\nlinks:\n"
                               "- {a: idle, b: west, rate: 100Mbps}\n"
                               "- {a: west, b: east, rate: 100Mbps, delay: 10ms" +
                                   schedule + "}\n")},
            {"population", Write("east.yaml",
                                 "server: {at: west}\nclients:\n- {name: near, at: east}\n"
                                 "- {name: far, count: 2, at: east}\n")},
            {"elements", "1e6"},
            {"per-round", "3"},
            {"rounds", "3"},
            {"client-seconds", "30"},
            {"fidelity", GetParam()}};
  }
};

TEST_P(TwoRegions, NeedNoClientBesideTheServer) {
  const Plan plan = RunOf(Options(""));
  ASSERT_EQ(plan.versions, 3);
  for (const PlannedRound& round : plan.rounds) EXPECT_GT(round.wire_up, 3 * 4'000'000);
}

TEST_P(TwoRegions, AnOutageWithoutEndIsAnErrorThatNamesItsLink) {
  const std::string message = MessageOf([] { RunOf(Options(", schedule: \"outage:from=40s\"")); });
  EXPECT_NE(message.find("link east > west"), std::string::npos) << message;
  EXPECT_NE(message.find("never"), message.find("for ever")) << message;
  // Client 0 is alone in its group; 1 and 2 are of the other.
  EXPECT_TRUE(message.ends_with("; it is on the way from client 0 of group near to the server") ||
              message.ends_with("; it is on the way from client 1 of group far to the server") ||
              message.ends_with("; it is on the way from client 2 of group far to the server"))
      << message;
}

// Without a server, both ends are clients.
TEST_P(TwoRegions, AnOutageWithoutEndIsAnErrorOfExchanges) {
  Texts texts = Options(", schedule: \"outage:from=35s\"");
  texts["population"] =
      Write("both.yaml", "clients:\n- {name: here, at: west}\n- {name: there, at: east}\n");
  texts["exchange"] = "ring-allreduce";
  texts.erase("per-round");
  const std::string message = MessageOf([&] { RunOf(texts); });
  EXPECT_NE(message.find(" of group here"), std::string::npos) << message;
  EXPECT_NE(message.find(" of group there"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Fidelities, TwoRegions, testing::Values("flow", "analytic", "packet"));

}  // namespace
}  // namespace legacy::edges_test
