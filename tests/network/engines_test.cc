#include "scenarios/network/engines/engines.h"

#include <gtest/gtest.h>

#include "tests/network/network_testing.h"

namespace legacy::engines_test {
namespace {

TEST(Engines, EveryFidelityMakesTheEngineOfItsName) {
  NetworkRequest request;
  request.topology.text = "star";
  request.placement.workers = 2;
  const auto network = BuildNetwork(request);
  for (const Fidelity fidelity : Fidelities()) {
    EXPECT_EQ(FactoryOf(fidelity, "--fidelity")(network->request)->Name(), NameOf(fidelity));
  }
  EXPECT_EQ(Fidelities().front() == Fidelity::kPacket, Ns3Version() != "none");
}

TEST(Engines, UnknownFidelityNamesTheOption) {
  const std::string unknown = MessageOf([] { ParseFidelity("exact", "--fidelity"); });
  EXPECT_NE(unknown.find("--fidelity: got 'exact'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("flow, analytic"), std::string::npos) << unknown;
  for (const char* key : {"--fidelity", "--doctor-fidelity"}) {  // no engine has that name
    const std::string message = MessageOf([&] {
      key == std::string("--fidelity") ? void(FactoryOf(Fidelity::kAuto, key))
                                       : void(ParseEngineFidelity("auto", key));
    });
    EXPECT_NE(message.find(key + std::string(": got 'auto'")), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace legacy::engines_test