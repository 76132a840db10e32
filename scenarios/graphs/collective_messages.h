// A collective as messages that wait for each other, as GOAL has it: the rounds of its flow graph
// written out.
#pragma once

#include <cstdint>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"

namespace legacy::graphs {

// A MessageEvent is the end of a message at its sender or its receiver.
struct MessageEvent {
  int message = 0;
  bool received = false;
};

// A CollectiveMessage is one message between two ranks.
struct CollectiveMessage {
  int source = 0;
  int destination = 0;
  int64_t bytes = 0;
  std::vector<MessageEvent> after;  // at its source, besides the source's beginning
};

// CollectiveMessages are all messages of a collective, in an order in which each follows those that
// it waits for.
struct CollectiveMessages {
  std::vector<CollectiveMessage> messages;
  std::vector<std::vector<MessageEvent>> ends;  // by member: what it waits for to be done
};

// Returns the messages of a collective among `ranks` ranks. A message waits for those that its
// source has received since it sent the last one, or, where the end of a message of its own lets it
// send, for that end. Throws Error on collectives with servers, switches that sum, or device work
// between messages, which GOAL cannot say.
CollectiveMessages MessagesOf(const fabric::CollectiveSpec& spec, int ranks);

}  // namespace legacy::graphs
