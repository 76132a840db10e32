// What step plans must be: values in range, both ends of messages, and no deadlock.
#include <gtest/gtest.h>

#include <set>

#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::plan_test {
namespace {

using A = CollectiveAlgorithm;

// Returns a plan of three ranks with every kind of operation: rank 2 has a role of its own.
StepPlan Everything() {
  StepPlan plan = EmptyPlan(3);
  plan.collectives = {Spec(A::RingAllReduce, {600, 600, 600}),
                      Spec(A::RingAllGather, {5, 6}, {2, 0})};
  plan.roles = {{{0},
                 {Segment({10}), CollectiveOf({0}, {0}), CollectiveOf({1}, {}, kGather),
                  Message(OperationKind::Receive, {2}, 1, 0)}},
                {{2, 1}, {CollectiveOf({0}), Segment({7, 8}, {0}, SegmentLabel::Update)}}};
  plan.roles[1].ranks = {1};
  plan.roles[1].operations[1].duration = {8};
  plan.roles.push_back({{2},
                        {CollectiveOf({1}, {}, kGather), CollectiveOf({0}),
                         Message(OperationKind::Send, {0}, 1, 40)}});
  StepOperation barrier;
  barrier.kind = OperationKind::Barrier;
  barrier.name = "end";
  barrier.after = {0, 1, 2};
  barrier.earliest = {90'000};
  plan.roles[2].operations.push_back(barrier);
  plan.roles[0].operations[1].communicator = 0;
  plan.roles[0].operations[1].issue = 3;
  plan.roles[0].operations[1].name = "AR";
  return plan;
}

TEST(StepPlan, TextNamesEverything) {
  StepPlan plan = Everything();
  plan.contention = 0.5;
  plan.hostLimit = 9;
  EXPECT_EQ(ToText(plan),
            "3 ranks, contention 0.5, host limit 9\n"
            "stream compute, any order\n"
            "stream gather\n"
            "stream reduce\n"
            "stream pipe, any order\n"
            "collective 0: ring-allreduce of 600 B among all\n"
            "collective 1: ring-allgather of 5, 6 B among 2, 0\n"
            "role 0: ranks 0\n"
            "  0: segment compute of 10 ns, on compute\n"
            "  1 AR: collective 0, issue 3 of data, on reduce, after 0\n"
            "  2: collective 1, on gather\n"
            "  3: receive from 2, tag 1, on pipe\n"
            "role 1: ranks 1\n"
            "  0: collective 0, on reduce\n"
            "  1: segment update of 8 ns, on compute, after 0\n"
            "role 2: ranks 2\n"
            "  0: collective 1, on gather\n"
            "  1: collective 0, on reduce\n"
            "  2: send of 40 B to 0, tag 1, on pipe\n"
            "  3 end: barrier, on compute, after 0, 1, 2, from 90000 ns\n");
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }), "");
  EXPECT_EQ(Star(3).Time(plan).total, 90'000);
}

TEST(StepPlan, CanonicalTextSeesEveryField) {
  std::set<std::string> seen{Everything().Canonical()};
  EXPECT_FALSE(seen.insert(Everything().Canonical()).second);
  const auto insert = [&](auto change) {
    StepPlan plan = Everything();
    change(plan);
    return seen.insert(plan.Canonical()).second;
  };
  EXPECT_TRUE(insert([](StepPlan& p) { p.ranks = 4; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.contention = 0.5; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.hostLimit = 1; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.streams[1].name = "x"; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.streams[1].ordered = false; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.communicators[0] = "x"; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.collectives[1].members = {0, 2}; }));
  EXPECT_TRUE(insert([](StepPlan& p) { p.roles[1].ranks = {2}; }));
  const auto operation = [&](auto change) {
    return insert([&](StepPlan& p) { change(p.roles[0].operations[1]); });
  };
  EXPECT_TRUE(operation([](StepOperation& o) { o.kind = OperationKind::Barrier; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.name = "x"; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.stream = 0; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.after.clear(); }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.earliest = {1}; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.label = SegmentLabel::Decode; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.duration = {1}; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.collective = {1}; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.communicator = kNoCommunicator; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.issue = 4; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.peer = {1}; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.tag = 1; }));
  EXPECT_TRUE(operation([](StepOperation& o) { o.bytes = 1; }));
}

template <typename Change>
std::string ErrorOf(Change change) {
  StepPlan plan = Everything();
  change(plan);
  const std::string message = MessageOf([&] { CheckPlan(plan); });
  EXPECT_EQ(MessageOf([&] { PlanGraph graph(plan); }), message);
  return message;
}

TEST(StepPlan, MistakesAreNamed) {
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.ranks = 0; }),
            "step plan: ranks: got '0'; allowed: 1 or more");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.contention = -1; }),
            "step plan: contention: got '-1.000000'; allowed: 0 or more");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.hostLimit = -1; }),
            "step plan: host limit: got '-1'; allowed: 0 or more");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.ranks = 4; }),
            "step plan: collective 0: bytes: got '3 sizes'; allowed: one for each of 4 ranks, or "
            "members for whom they are");
  EXPECT_EQ(ErrorOf([](StepPlan& p) {
              p.collectives[1].members = {3, 0};
            }),
            "step plan: collective 1: member: got '3'; allowed: 0 to 2");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.collectives[1].bytes[0] = -1; }),
            "ring-allgather: bytes of worker 0: got '-1'; allowed: 0 or more");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[1].ranks = {2}; }),
            "step plan: role 2: ranks: got '2, which is in role 1'; allowed: each rank once");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[1].ranks.clear(); }),
            "step plan: rank 1 has no role");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[1].ranks = {3}; }),
            "step plan: role 1: rank: got '3'; allowed: 0 to 2");
  const auto operation = [](int number, auto change) {
    return ErrorOf([&](StepPlan& p) { change(p.roles[0].operations[number]); });
  };
  EXPECT_EQ(operation(1, [](StepOperation& o) { o.stream = 4; }),
            "step plan: role 0: AR: stream: got '4'; allowed: 0 to 3");
  EXPECT_EQ(operation(0, [](StepOperation& o) { o.after = {4}; }),
            "step plan: role 0: operation 0: after: got '4'; allowed: 0 to 3");
  EXPECT_EQ(operation(0,
                      [](StepOperation& o) {
                        o.duration = {1, 2};
                      }),
            "step plan: role 0: operation 0: duration, ns: got '2 values'; allowed: one for each "
            "of 1 ranks, or one for all");
  EXPECT_EQ(operation(0, [](StepOperation& o) { o.duration = {-1}; }),
            "step plan: role 0: operation 0: duration, ns: got '-1'; allowed: 0 or more");
  EXPECT_EQ(operation(0, [](StepOperation& o) { o.earliest = {-1}; }),
            "step plan: role 0: operation 0: earliest, ns: got '-1'; allowed: 0 or more");
  EXPECT_EQ(operation(1, [](StepOperation& o) { o.collective = {2}; }),
            "step plan: role 0: AR: collective: got '2'; allowed: 0 to 1");
  EXPECT_NE(operation(1, [](StepOperation& o) { o.collective.clear(); }), "");
  EXPECT_EQ(operation(1, [](StepOperation& o) { o.communicator = 1; }),
            "step plan: role 0: AR: communicator: got '1'; allowed: -1 to 0");
  EXPECT_EQ(operation(2,
                      [](StepOperation& o) {
                        o.communicator = 0;
                        o.issue = 3;
                      }),
            "step plan: role 0: communicator data: got 'issue 3 twice'; allowed: each issue once");
  EXPECT_EQ(operation(3, [](StepOperation& o) { o.peer = {0}; }),
            "step plan: role 0: operation 3: peer: got '0'; allowed: another rank");
  EXPECT_NE(ErrorOf([](StepPlan& p) { p.roles[2].operations[2].bytes = -1; }), "");
}

TEST(StepPlan, LoneEndsAreNamed) {
  EXPECT_EQ(ErrorOf([](StepPlan& p) {
              p.roles[1].operations.erase(p.roles[1].operations.begin());
              p.roles[1].operations[0].after.clear();
            }),
            "step plan: collective 0: rank 1 is a member, but takes no part");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[1].operations.push_back(CollectiveOf({1})); }),
            "step plan: collective 1: rank 1 takes part, but is no member");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[1].operations.push_back(CollectiveOf({0})); }),
            "step plan: collective 0: is in two operations of a role");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[0].operations[3].tag = 2; }),
            "step plan: rank 2 sends to rank 0 with tag 1 (operation 2), which never receives "
            "that");
  EXPECT_EQ(ErrorOf([](StepPlan& p) {
              p.roles[0].operations.push_back(Message(OperationKind::Receive, {1}, 1, 0));
            }),
            "step plan: rank 0 receives from rank 1 with tag 1 (operation 4), which never sends "
            "that");
}

TEST(StepPlan, DeadlocksAreNamed) {
  StepPlan plan = EmptyPlan(6);
  plan.collectives = {Spec(A::RingAllGather, {5, 5}, {3, 4}),
                      Spec(A::RingAllReduce, {5, 5}, {3, 4})};
  plan.streams[kReduce].ordered = false;
  plan.roles = {{{0, 1, 2, 5}, {Segment({5})}},
                {{3}, {CollectiveOf({1}), CollectiveOf({0})}},
                {{4}, {CollectiveOf({0}), CollectiveOf({1})}}};
  plan.roles[1].operations[0].name = plan.roles[2].operations[1].name = "RS(6)";
  plan.roles[1].operations[1].name = plan.roles[2].operations[0].name = "AG(7)";
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }), "") << "without an order there is none to cross";
  for (int role : {1, 2}) {
    for (int number : {0, 1}) {
      plan.roles[role].operations[number].communicator = 0;
      plan.roles[role].operations[number].issue = number;
    }
  }
  const std::string crossed =
      "step plan: deadlock: rank 3 waits for AG(7) behind RS(6), rank 4 the other way";
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }), crossed);
  for (StepRole& role : plan.roles) {
    for (StepOperation& operation : role.operations) operation.communicator = kNoCommunicator;
  }
  plan.streams[kReduce].ordered = true;
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }), crossed) << "by the order of the stream";
}

TEST(StepPlan, CirclesOfOneRankAndOfMessagesAreNamed) {
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[0].operations[0].after = {1}; }),
            "step plan: deadlock: rank 0 waits for operation 0 behind AR behind operation 0");
  EXPECT_EQ(ErrorOf([](StepPlan& p) { p.roles[0].operations[0].after = {0}; }),
            "step plan: deadlock: rank 0 waits for operation 0 behind operation 0");
  StepPlan plan = EmptyPlan(3);
  for (int rank : {0, 1, 2}) {
    plan.roles.push_back({{rank},
                          {Message(OperationKind::Receive, {(rank + 2) % 3}, 0, 0),
                           Message(OperationKind::Send, {(rank + 1) % 3}, 0, 10, {0})}});
    plan.roles[rank].operations[0].name = "get";
    plan.roles[rank].operations[1].name = "put";
  }
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }),
            "step plan: deadlock: rank 0 waits for put behind get, rank 2 for put behind get, "
            "rank 1 for put behind get");
  plan.roles[1].operations[1].after.clear();
  EXPECT_EQ(MessageOf([&] { CheckPlan(plan); }), "");
  plan.hostLimit = 1;
  EXPECT_NE(MessageOf([&] { CheckPlan(plan); }), "") << "the host waits for the receive";
}

}  // namespace
}  // namespace legacy::fabric::plan_test
