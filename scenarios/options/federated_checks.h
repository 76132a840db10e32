// Texts of federated options are checked when they are set, so that a mistake is found where it is
// written. What depends on several options is checked by ValidateFederated.
#pragma once

#include <string>
#include <vector>

#include "ns3-module/fabric/tasks/server.h"
#include "scenarios/options/federated_options.h"

namespace legacy {

// Throws Error naming `key` where no scenario could have this text of the option.
void CheckFederatedText(const FederatedOption& option, const std::string& text,
                        const std::string& key);
// The same of a method's own algorithm and downlink.
void CheckAlgorithm(const std::string& text, const std::string& key);
void CheckDownlink(const std::string& text, const std::string& key);

// Splits "fedavg,fedbuff:k=10,alpha=0.5": a part "k=v" without a name belongs to the one before.
std::vector<std::string> SplitAlgorithms(const std::string& text);

// Reads "async:concurrency=100[,buffer=10,max-staleness=0]" for that many clients. Versions and
// tasks are other options. Throws Error naming `key`.
fabric::AsyncOptions ParseAsyncServer(const std::string& text, const std::string& key,
                                      int64_t clients);

}  // namespace legacy
