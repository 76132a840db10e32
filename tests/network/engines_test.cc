#include "scenarios/network/engines.h"

#include <gtest/gtest.h>

#include "tests/network/network_testing.h"

namespace legacy::engines_test {
namespace {

TEST(Engines, EveryFidelityMakesTheEngineOfItsName) {
  NetworkRequest request;
  request.topology.text = "star";
  request.placement.workers = 2;
  const auto network = BuildNetwork(request);
  for (const std::string& fidelity : Fidelities()) {
    EXPECT_EQ(FactoryOf(fidelity, "--fidelity")(network->request)->Name(), fidelity);
  }
  EXPECT_EQ(Fidelities().front() == "packet", Ns3Version() != "none");
}

TEST(Engines, UnknownFidelityNamesTheOption) {
  const std::string message = MessageOf([] { FactoryOf("exact", "--fidelity"); });
  EXPECT_NE(message.find("--fidelity: got 'exact'"), std::string::npos) << message;
  EXPECT_NE(message.find("flow, analytic"), std::string::npos) << message;
}

}  // namespace
}  // namespace legacy::engines_test