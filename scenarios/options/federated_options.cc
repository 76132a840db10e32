#include "scenarios/options/federated_options.h"

#include <algorithm>

namespace legacy {

const std::vector<FederatedOption>& FederatedOptionRows() {
  constexpr OptionProperties kBoth = kReadByPlans | kReadByRuns;
  static const std::vector<FederatedOption> options = {
      {"population", "TEXT", "broadband", "Clients",
       "who the clients are: broadband[:down=RATE,up=RATE,delay=TIME], phones, silos:FILE (CSV), "
       "or FILE.yaml with groups",
       kBoth | kReadByPopulations | kMayReplay | kAdvised | kUsual},
      {"clients", "N", "", "Clients",
       "number of clients of broadband and phones [100]; a file has its own",
       kBoth | kReadByPopulations | kAdvised | kUsual},
      {"traces", "TEXT", "", "Clients",
       "traces that the access lines follow, each client one of them from a time of its own on: "
       "csv:FILES[:column=,up_column=,scale=mean,direction=both|down|up] or mahimahi:FILES; a "
       "population file's own come first",
       kBoth | kReadByPopulations | kMayReplay},
      {"down-rates", "F", "1", "Clients", "factor on the rates of all access lines to clients",
       kBoth | kReadByPopulations | kMayReplay},
      {"up-rates", "F", "1", "Clients", "factor on the rates of all access lines from clients",
       kBoth | kReadByPopulations | kMayReplay},
      {"packet-loss", "P", "0", "Clients",
       "probability that an access line loses a packet, each way, beside the population's own",
       kBoth | kMayReplay},
      {"availability", "TEXT", "always", "Clients",
       "when clients could take part: always, bernoulli:p=0.7, "
       "nightly[:start=22h,spread=2h,length=7h,chance=0.8,zone=client|0], "
       "sessions:on=1h,off=3h, trace:file=FILE (CSV client,start_s,end_s)",
       kBoth | kReadByPopulations | kServerAlone | kUsual},
      {"dropout", "TEXT", "0", "Clients",
       "tasks that are lost: a probability such as 0.05[:where=work|upload|any], or "
       "hazard:mean=10m",
       kBoth | kServerAlone | kUsual},
      {"detect", "TIME", "0s", "Clients", "time after which the server learns of a lost task",
       kBoth | kMayReplay | kServerAlone},

      {"elements", "N", "", "Work", "parameters of the model, as in 44426 or 10.2e9",
       kReadByPlans | kUsual},
      {"element-bytes", "B", "4", "Work", "bytes of a parameter on the way: 4 fp32, 2 fp16, 1 int8",
       kReadByPlans},
      {"bytes", "SIZE", "", "Work", "bytes of the model and of an update, instead of --elements",
       kReadByPlans | kUsual},
      {"down-bytes", "SIZE", "", "Work", "bytes that a task gets [those of the model]",
       kReadByPlans | kServerAlone},
      {"up-bytes", "SIZE", "", "Work", "bytes of a task's update [those of the model]",
       kReadByPlans | kServerAlone},
      {"client-seconds", "S", "", "Work",
       "seconds of a task's work on a client with a slowdown of 1 [0, or from --shape]",
       kReadByPlans | kUsual},
      {"shape", "NAME", "", "Work",
       "shape of the model, which gives elements and work (docs/shapes.md)", kReadByPlans | kUsual},
      {"profile", "NAME", "phone-assumed", "Work",
       "device with a slowdown of 1, for --shape; a population's own come first", kReadByPlans},
      {"batch", "N", "20", "Work", "samples of a local step, for --shape", kReadByPlans},
      {"local-steps", "N", "", "Work",
       "local steps of a task, for --shape [one epoch of the client's samples]", kReadByPlans},

      {"exchange", "NAME", "server", "Exchange",
       "server, or an all-reduce or all-gather of all clients, as in ring-allreduce: every client "
       "works, then all exchange their updates without a server",
       kBoth | kMayReplay | kAdvised | kUsual},
      {"order", "LIST", "", "Exchange",
       "clients in the order of the collective: numbers from 0, names of groups or places, with "
       "commas [that of the population]",
       kBoth | kMayReplay},
      {"group", "N", "", "Exchange",
       "clients of a group of hierarchical collectives, in that order [those at the first client's "
       "place]",
       kBoth | kMayReplay},

      {"server", "TEXT", "sync", "Server",
       "sync, or async:concurrency=100[,buffer=10,max-staleness=0]: a version of each `buffer` "
       "updates",
       kBoth | kServerAlone | kUsual},
      {"rounds", "N", "100", "Server", "versions of the model to make", kBoth | kUsual},
      {"max-tasks", "N", "", "Server", "end after so many tasks, for async",
       kReadByPlans | kServerAlone},
      {"per-round", "N", "", "Server",
       "updates that make a version, also as 10%, for sync [10, or all clients]",
       kBoth | kAdvised | kServerAlone | kRoundsAlone | kUsual},
      {"over-select", "F", "1", "Server",
       "start so many times as many tasks; the first that arrive count",
       kBoth | kServerAlone | kRoundsAlone | kUsual},
      {"deadline", "TIME", "none", "Server",
       "end of a round: a time from its start, as in 60s, or factor:1.5 of the median predicted "
       "task",
       kBoth | kServerAlone | kRoundsAlone | kUsual},
      {"min", "N", "1", "Server", "updates that must have arrived at the deadline",
       kBoth | kServerAlone | kRoundsAlone},
      {"short", "wait|skip", "wait", "Server",
       "at a deadline with fewer: wait for them, or end the round without a version",
       kBoth | kServerAlone | kRoundsAlone},
      {"selection", "TEXT", "uniform", "Server",
       "uniform, weighted (by samples), round-robin, tiers[:count=5] (classes of clients by "
       "predicted task time; one of them in each round); in training also power-of-choice[:d=N] "
       "(large losses) and "
       "oort[:explore=0.9,decay=0.98,least=0.3,percentile=30,penalty=2,pacer=20] (large losses, "
       "short tasks)",
       kBoth | kServerAlone | kUsual},

      {"algorithms", "NAME[:k=v,...],...", "fedavg", "Learning",
       "how updates become a version: fedavg, fedprox, fedavgm, fedadagrad, fedadam, fedyogi, "
       "scaffold, fednova, feddyn, fedbuff, fedasync, diloco, with their options; of several, each "
       "is run with every policy",
       kReadByRuns | kUsual},
      {"weighting", "auto|samples|uniform", "auto", "Learning",
       "what counts in a mean of updates: each sample, or each update; auto: as the algorithm's "
       "paper has it",
       kReadByRuns},
      {"local", "epochs:E|epochs:A-B|steps:H", "epochs:1", "Learning",
       "work of a task: passes over the client's samples, a number of them drawn for each task, or "
       "steps",
       kReadByRuns | kUsual},
      {"rate-over", "versions|steps", "versions", "Learning",
       "what --learning-rate's schedule counts: versions of the model, or each client's own "
       "counted "
       "steps",
       kReadByRuns},
      {"partition", "NAME[:k=v,...]", "dirichlet:alpha=0.5", "Learning",
       "which samples each client has: iid, dirichlet, dirichlet-client, shards, labels, quantity, "
       "power-law, natural, groups, with their options",
       kReadByRuns | kUsual},
      {"client-state", "auto|reset|keep", "auto", "Learning",
       "optimizer of a client: new in each task, or that of its last task; auto: keep for diloco, "
       "reset for others",
       kReadByRuns},
      {"downlink", "dense|fp16|delta:CODEC@P", "dense", "Learning",
       "how the model travels to clients, who train from what they decode: fp32, half precision, "
       "or "
       "compressed differences of versions, as in delta:topk@1%",
       kReadByRuns | kServerAlone | kUsual},
      {"uplink-memory", "client|off|ef21", "client", "Learning",
       "what a client keeps of what it did not send: a residual, nothing, or what the server knows "
       "of it (EF21)",
       kReadByRuns},
      {"residual-decay", "X", "1", "Learning", "factor on a residual each time that it is added",
       kReadByRuns | kServerAlone},
      {"residual-age", "N", "0", "Learning",
       "versions after which a client's residual is dropped; 0: never", kReadByRuns | kServerAlone},
      {"batchnorm", "average|local", "average", "Learning",
       "statistics of batch norm: the mean of the counted clients, or each client's own (FedBN)",
       kReadByRuns},
      {"diverged", "fail|drop", "fail", "Learning",
       "an update that is not finite ends the run, or is left out", kReadByRuns},
      {"secure-aggregation", "on|off", "off", "Learning",
       "the server sees sums of updates alone: refuses codecs and algorithms that masks do not "
       "fit, "
       "and multiplies the bytes up by 1.73, or 1.98 beyond 1024 clients a round; no protocol is "
       "simulated",
       kReadByRuns | kServerAlone},
      {"state-memory", "SIZE", "1GiB", "Learning",
       "memory for what clients keep; the rest is on disk",
       kReadByRuns | kMayReplay | kLeavesResults | kStudyIgnores | kServerAlone},
      {"tasks", "on|off", "on", "Learning", "write tasks.csv, up to a million tasks",
       kReadByRuns | kMayReplay | kLeavesResults | kStudyIgnores},

      {"topology", "TEXT", "", "Network",
       "topology whose switches the population names as places [a star around the server]",
       kReadByPlans | kReadByPopulations | kUsual},
      {"at", "NAME", "", "Network", "place of the server [the population's]",
       kBoth | kReadByPopulations | kMayReplay | kServerAlone | kUsual},
      {"server-rate", "RATE", "", "Network", "rate of the server's line [the population's, 10Gbps]",
       kBoth | kMayReplay | kServerAlone},
      {"server-price", "USD", "", "Network",
       "USD per GB that leaves the server, or out/in [the population's]",
       kBoth | kMayReplay | kServerAlone},
      {"price", "USD", "", "Network",
       "USD per GB that clients of broadband and phones send, or sent/got",
       kBoth | kReadByPopulations | kMayReplay},
      {"prices", "F", "1", "Network", "factor on all prices, those of clients' hours included",
       kBoth | kMayReplay},
      {"core-rates", "F", "1", "Network",
       "factor on the rates of the topology's own links, between the access lines",
       kBoth | kMayReplay},
      {"core-delays", "F", "1", "Network", "factor on their delays", kBoth | kMayReplay},
      {"fidelity", "NAME", "flow", "Network",
       "packet, flow, analytic, or formula (bits / bandwidth of the client, nothing shared)",
       kReadByPlans | kUsual},
      {"transport", "wan|datacenter", "wan", "Network", "parameters of TCP, queues and headers",
       kReadByPlans},
      {"connections", "KIND", "tls", "Network",
       "how a task connects: warm, cold, tls, quic, quic-0rtt, persistent", kReadByPlans},
      {"congestion", "NAME", "", "Network",
       "congestion control: reno, cubic, dctcp, bbr [the transport's: cubic for wan]",
       kReadByPlans},
      {"streams", "N", "1", "Network", "connections that share a transfer", kReadByPlans},
      {"seed", "N", "1", "Network", "seed of all draws",
       kReadByPlans | kReadByPopulations | kUsual},
  };
  return options;
}

std::string FederatedOption::Key() const {
  std::string key = "federated." + name;
  std::ranges::replace(key, '-', '_');
  return key;
}

FederatedValues DefaultFederatedValues() {
  FederatedValues values;
  for (const FederatedOption& option : FederatedOptionRows()) values[option.name] = option.fallback;
  return values;
}

}  // namespace legacy
