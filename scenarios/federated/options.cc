#include "scenarios/federated/options.h"

#include <set>

namespace legacy {

const std::vector<FederatedOption>& FederatedOptions() {
  static const std::vector<FederatedOption> options = {
      {"population", "TEXT", "broadband", "Clients",
       "who the clients are: broadband[:down=RATE,up=RATE,delay=TIME], phones, silos:FILE (CSV), "
       "or "
       "FILE.yaml with groups"},
      {"clients", "N", "", "Clients",
       "number of clients of broadband and phones [100]; a file has its own"},
      {"schedule", "TEXT", "", "Clients",
       "traces that the access lines follow, each client one of them from a time of its own on: "
       "csv:FILES[:column=,up_column=,scale=mean,direction=both|down|up] or mahimahi:FILES; a "
       "population file's own come first"},
      {"availability", "TEXT", "always", "Clients",
       "when clients could take part: always, bernoulli:p=0.7, "
       "nightly[:start=22h,spread=2h,length=7h,chance=0.8,zone=client|0], "
       "sessions:on=1h,off=3h, trace:file=FILE (CSV client,start_s,end_s)"},
      {"dropout", "TEXT", "0", "Clients",
       "tasks that are lost: a probability such as 0.05[:where=work|upload|any], or "
       "hazard:mean=10m"},
      {"detect", "TIME", "0s", "Clients", "time after which the server learns of a lost task"},

      {"elements", "N", "", "Work", "parameters of the model, as in 44426 or 10.2e9"},
      {"element-bytes", "B", "4", "Work",
       "bytes of a parameter on the way: 4 fp32, 2 fp16, 1 int8"},
      {"bytes", "SIZE", "", "Work", "bytes of the model and of an update, instead of --elements"},
      {"down-bytes", "SIZE", "", "Work", "bytes that a task gets [those of the model]"},
      {"up-bytes", "SIZE", "", "Work", "bytes of a task's update [those of the model]"},
      {"client-seconds", "S", "", "Work",
       "seconds of a task's work on a client with a slowdown of 1 [0, or from --shape]"},
      {"shape", "NAME", "", "Work",
       "shape of the model, which gives elements and work (docs/shapes.md)"},
      {"profile", "NAME", "phone-assumed", "Work",
       "device with a slowdown of 1, for --shape; a population's own come first"},
      {"batch", "N", "20", "Work", "samples of a local step, for --shape"},
      {"local-steps", "N", "", "Work",
       "local steps of a task, for --shape [one epoch of the client's samples]"},

      {"exchange", "NAME", "server", "Exchange",
       "server, or an all-reduce or all-gather of all clients, as in ring-allreduce: every client "
       "works, then all exchange their updates without a server"},
      {"order", "LIST", "", "Exchange",
       "clients in the order of the collective: numbers from 0, names of groups or places, with "
       "commas [that of the population]"},
      {"group", "N", "", "Exchange",
       "clients of a group of hierarchical collectives, in that order [those at the first client's "
       "place]"},

      {"server", "TEXT", "sync", "Server",
       "sync, or async:concurrency=100[,buffer=10,max-staleness=0]: a version of each `buffer` "
       "updates"},
      {"rounds", "N", "100", "Server", "versions of the model to make"},
      {"max-tasks", "N", "", "Server", "end after so many tasks, for async"},
      {"per-round", "N", "", "Server",
       "updates that make a version, also as 10%, for sync [10, or all clients]"},
      {"over-select", "F", "1", "Server",
       "start so many times as many tasks; the first that arrive count"},
      {"deadline", "TIME", "none", "Server",
       "end of a round: a time from its start, as in 60s, or factor:1.5 of the median predicted "
       "task"},
      {"min", "N", "1", "Server", "updates that must have arrived at the deadline"},
      {"short", "wait|skip", "wait", "Server",
       "at a deadline with fewer: wait for them, or end the round without a version"},
      {"selection", "TEXT", "uniform", "Server",
       "uniform, weighted (by samples), round-robin, tiers[:count=5] (classes of clients by "
       "predicted "
       "task time; one of them in each round)"},

      {"topology", "TEXT", "", "Network",
       "topology whose switches the population names as places [a star around the server]"},
      {"at", "NAME", "", "Network", "place of the server [the population's]"},
      {"server-rate", "RATE", "", "Network",
       "rate of the server's line [the population's, 10Gbps]"},
      {"server-price", "USD", "", "Network",
       "USD per GB that leaves the server, or out/in [the population's]"},
      {"price", "USD", "", "Network",
       "USD per GB that clients of broadband and phones send, or sent/got"},
      {"fidelity", "NAME", "flow", "Network",
       "packet, flow, analytic, or formula (bits / bandwidth of the client, nothing shared)"},
      {"transport", "wan|datacenter", "wan", "Network", "parameters of TCP, queues and headers"},
      {"connections", "KIND", "tls", "Network",
       "how a task connects: warm, cold, tls, quic, quic-0rtt, persistent"},
      {"congestion", "NAME", "", "Network",
       "congestion control: reno, cubic, dctcp, bbr [the transport's: cubic for wan]"},
      {"streams", "N", "1", "Network", "connections that share a transfer"},
      {"seed", "N", "1", "Network", "seed of all draws"},
  };
  return options;
}

bool DescribesClients(const std::string& name) {
  static const std::set<std::string> names = {"population", "clients", "schedule", "availability",
                                              "topology",   "at",      "price",    "seed"};
  return names.contains(name);
}

FederatedValues DefaultFederatedValues() {
  FederatedValues values;
  for (const FederatedOption& option : FederatedOptions()) values[option.name] = option.fallback;
  return values;
}

}  // namespace legacy
