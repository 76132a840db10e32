#include "scenarios/options/federated_options.h"

#include "base/option_forms.h"
#include "ns3-module/fabric/tasks/selection.h"

namespace legacy {
namespace {

using namespace option_forms;

constexpr double kMostSeconds = 1e8;
constexpr double kLeastFactor = 1e-6, kMostFactor = 1e6;
constexpr double kMostLoss = 0.9;
constexpr OptionProperties kBoth = kReadByPlans | kReadByRuns;

OptionTable<FederatedSection> OptionsOfClients() {
  return {
      Text<&FederatedSection::population>(
          "federated.population", "--population", "TEXT",
          "who the clients are: broadband[:down=RATE,up=RATE,delay=TIME], phones, silos:FILE "
          "(CSV), or FILE.yaml with groups") |
          kBoth | kReadByPopulations | kMayReplay | kAdvised | kUsual,
      Integer<&FederatedSection::clients, 1, INT32_MAX>(
          "federated.clients", "--clients",
          "number of clients of broadband and phones [100]; a file has its own") |
          kBoth | kReadByPopulations | kAdvised | kUsual,
      Text<&FederatedSection::traces>(
          "federated.traces", "--traces", "TEXT",
          "traces that the access lines follow, each client one of them from a time of its own on: "
          "csv:FILES[:column=,up_column=,scale=mean,direction=both|down|up] or mahimahi:FILES; a "
          "population file's own come first") |
          kBoth | kReadByPopulations | kMayReplay,
      Number<&FederatedSection::down_rates>("federated.down_rates", "--down-rates",
                                            "factor on the rates of all access lines to clients",
                                            kLeastFactor, kMostFactor) |
          kBoth | kReadByPopulations | kMayReplay,
      Number<&FederatedSection::up_rates>("federated.up_rates", "--up-rates",
                                          "factor on the rates of all access lines from clients",
                                          kLeastFactor, kMostFactor) |
          kBoth | kReadByPopulations | kMayReplay,
      Number<&FederatedSection::packet_loss>(
          "federated.packet_loss", "--packet-loss",
          "probability that an access line loses a packet, each way, beside the population's own",
          0, kMostLoss) |
          kBoth | kMayReplay,
      Text<&FederatedSection::availability, CheckAvailability>(
          "federated.availability", "--availability", "TEXT",
          "when clients could take part: always, bernoulli:p=0.7, "
          "nightly[:start=22h,spread=2h,length=7h,chance=0.8,zone=client|0], "
          "sessions:on=1h,off=3h, trace:file=FILE (CSV client,start_s,end_s)") |
          kBoth | kReadByPopulations | kServerAlone | kUsual,
      Text<&FederatedSection::dropout, CheckDropout>(
          "federated.dropout", "--dropout", "TEXT",
          "tasks that are lost: a probability such as 0.05[:where=work|upload|any], or "
          "hazard:mean=10m") |
          kBoth | kServerAlone | kUsual,
      Text<&FederatedSection::detect>("federated.detect", "--detect", "TIME",
                                      "time after which the server learns of a lost task") |
          kBoth | kMayReplay | kServerAlone,
  };
}

OptionTable<FederatedSection> OptionsOfWork() {
  return {
      Text<&FederatedSection::elements>("federated.elements", "--elements", "N",
                                        "parameters of the model, as in 44426 or 10.2e9") |
          kReadByPlans | kUsual,
      Number<&FederatedSection::element_bytes>(
          "federated.element_bytes", "--element-bytes",
          "bytes of a parameter on the way: 4 fp32, 2 fp16, 1 int8", 0.01, 64) |
          kReadByPlans,
      Text<&FederatedSection::bytes>("federated.bytes", "--bytes", "SIZE",
                                     "bytes of the model and of an update, instead of --elements") |
          kReadByPlans | kUsual,
      Text<&FederatedSection::down_bytes>("federated.down_bytes", "--down-bytes", "SIZE",
                                          "bytes that a task gets [those of the model]") |
          kReadByPlans | kServerAlone,
      Text<&FederatedSection::up_bytes>("federated.up_bytes", "--up-bytes", "SIZE",
                                        "bytes of a task's update [those of the model]") |
          kReadByPlans | kServerAlone,
      Text<&FederatedSection::codec>(
          "federated.codec", "--codec", "TEXT",
          "codec of updates, as in topk@1%, which gives their bytes from --shape or --elements; "
          "its own time is not added [none]") |
          kReadByPlans | kUsual,
      Number<&FederatedSection::client_seconds>(
          "federated.client_seconds", "--client-seconds",
          "seconds of a task's work on a client with a slowdown of 1 [0, or from --shape]", 0,
          kMostSeconds) |
          kReadByPlans | kUsual,
      Text<&FederatedSection::shape>(
          "federated.shape", "--shape", "NAME",
          "shape of the model, which gives elements and work (docs/shapes.md)") |
          kReadByPlans | kUsual,
      Text<&FederatedSection::profile>(
          "federated.profile", "--profile", "NAME",
          "device with a slowdown of 1, for --shape; a population's own come first") |
          kReadByPlans,
      Integer<&FederatedSection::batch, 1, 1'000'000>("federated.batch", "--batch",
                                                      "samples of a local step, for --shape") |
          kReadByPlans,
      Integer<&FederatedSection::local_steps, 1, 1'000'000'000>(
          "federated.local_steps", "--local-steps",
          "local steps of a task, for --shape [one epoch of the client's samples]") |
          kReadByPlans,
  };
}

OptionTable<FederatedSection> OptionsOfExchange() {
  return {
      Text<&FederatedSection::exchange>(
          "federated.exchange", "--exchange", "NAME",
          "server, or an all-reduce or all-gather of all clients, as in ring-allreduce: every "
          "client works, then all exchange their updates without a server") |
          kBoth | kMayReplay | kAdvised | kUsual,
      Text<&FederatedSection::order>(
          "federated.order", "--order", "LIST",
          "clients in the order of the collective: numbers from 0, names of groups or places, with "
          "commas [that of the population]") |
          kBoth | kMayReplay,
      Integer<&FederatedSection::group, 1, INT32_MAX>(
          "federated.group", "--group",
          "clients of a group of hierarchical collectives, in that order [those at the first "
          "client's place]") |
          kBoth | kMayReplay,
  };
}

OptionTable<FederatedSection> OptionsOfServer() {
  return {
      Text<&FederatedSection::server>("federated.server", "--server", "TEXT",
                                      "sync, or async:concurrency=100[,buffer=10,max-staleness=0]: "
                                      "a version of each `buffer` updates") |
          kBoth | kServerAlone | kUsual,
      Integer<&FederatedSection::rounds, 1, 1'000'000'000>("federated.rounds", "--rounds",
                                                           "versions of the model to make") |
          kBoth | kUsual,
      Integer<&FederatedSection::max_tasks, 1, 1'000'000'000'000>(
          "federated.max_tasks", "--max-tasks", "end after so many tasks, for async") |
          kReadByPlans | kServerAlone,
      Text<&FederatedSection::per_round>(
          "federated.per_round", "--per-round", "N",
          "updates that make a version, also as 10%, for sync [10, or all clients]") |
          kBoth | kAdvised | kServerAlone | kRoundsAlone | kUsual,
      Number<&FederatedSection::over_select>(
          "federated.over_select", "--over-select",
          "start so many times as many tasks; the first that arrive count", 1, 100) |
          kBoth | kServerAlone | kRoundsAlone | kUsual,
      Text<&FederatedSection::deadline>("federated.deadline", "--deadline", "TIME",
                                        "end of a round: a time from its start, as in 60s, or "
                                        "factor:1.5 of the median predicted task") |
          kBoth | kServerAlone | kRoundsAlone | kUsual,
      Integer<&FederatedSection::least, 1, INT32_MAX>(
          "federated.min", "--min", "updates that must have arrived at the deadline") |
          kBoth | kServerAlone | kRoundsAlone,
      Text<&FederatedSection::skip_short>(
          "federated.short", "--short", "wait|skip",
          "at a deadline with fewer: wait for them, or end the round without a version") |
          kBoth | kServerAlone | kRoundsAlone,
      Text<&FederatedSection::selection, CheckSelection>("federated.selection", "--selection",
                                                         "TEXT", fabric::DescribeSelections()) |
          kBoth | kServerAlone | kUsual,
  };
}

OptionTable<FederatedSection> OptionsOfLearning() {
  return {
      Text<&FederatedSection::algorithms>(
          "federated.algorithms", "--algorithms", "NAME[:k=v,...],...",
          "how updates become a version: fedavg, fedprox, fedavgm, fedadagrad, fedadam, fedyogi, "
          "scaffold, fednova, feddyn, fedbuff, fedasync, diloco, with their options; of several, "
          "each is run with every method") |
          kReadByRuns | kUsual,
      Text<&FederatedSection::weighting>("federated.weighting", "--weighting",
                                         "auto|samples|uniform",
                                         "what counts in a mean of updates: each sample, or each "
                                         "update; auto: as the algorithm's paper has it") |
          kReadByRuns,
      Text<&FederatedSection::local>("federated.local", "--local", "epochs:E|epochs:A-B|steps:H",
                                     "work of a task: passes over the client's samples, a number "
                                     "of them drawn for each task, or steps") |
          kReadByRuns | kUsual,
      Text<&FederatedSection::rate_over_steps>("federated.rate_over", "--rate-over",
                                               "versions|steps",
                                               "what --learning-rate's schedule counts: versions "
                                               "of the model, or each client's own counted steps") |
          kReadByRuns,
      Text<&FederatedSection::partition, CheckPartitionText>(
          "federated.partition", "--partition", "NAME[:k=v,...]",
          "which samples each client has: iid, dirichlet, dirichlet-client, shards, labels, "
          "quantity, power-law, natural, groups, with their options") |
          kReadByRuns | kUsual,
      Text<&FederatedSection::client_state>(
          "federated.client_state", "--client-state", "auto|reset|keep",
          "optimizer of a client: new in each task, or that of its last task; auto: keep for "
          "diloco, reset for others") |
          kReadByRuns,
      Text<&FederatedSection::downlink, CheckDownlink>(
          "federated.downlink", "--downlink", "dense|fp16|delta:CODEC@P",
          "how the model travels to clients, who train from what they decode: fp32, half "
          "precision, or compressed differences of versions, as in delta:topk@1%") |
          kReadByRuns | kServerAlone | kUsual,
      Text<&FederatedSection::uplink_memory>(
          "federated.uplink_memory", "--uplink-memory", "client|off|ef21",
          "what a client keeps of what it did not send: a residual, nothing, or what the server "
          "knows of it (EF21)") |
          kReadByRuns,
      Number<&FederatedSection::residual_decay>("federated.residual_decay", "--residual-decay",
                                                "factor on a residual each time that it is added",
                                                0, 1) |
          kReadByRuns | kServerAlone,
      Integer<&FederatedSection::residual_age, 0, INT32_MAX>(
          "federated.residual_age", "--residual-age",
          "versions after which a client's residual is dropped; 0: never") |
          kReadByRuns | kServerAlone,
      Text<&FederatedSection::batch_norm>("federated.batchnorm", "--batchnorm", "average|local",
                                          "statistics of batch norm: the mean of the counted "
                                          "clients, or each client's own (FedBN)") |
          kReadByRuns,
      Text<&FederatedSection::drop_diverged>(
          "federated.diverged", "--diverged", "fail|drop",
          "an update that is not finite ends the run, or is left out") |
          kReadByRuns,
      Switch<&FederatedSection::secure_aggregation>(
          "federated.secure_aggregation", "--secure-aggregation",
          "the server sees sums of updates alone: refuses codecs and algorithms that masks do not "
          "fit, and multiplies the bytes up by 1.73, or 1.98 beyond 1024 clients a round; no "
          "protocol is simulated") |
          kReadByRuns | kServerAlone,
      Text<&FederatedSection::state_memory>("federated.state_memory", "--state-memory", "SIZE",
                                            "memory for what clients keep; the rest is on disk") |
          kReadByRuns | kMayReplay | kLeavesResults | kStudyIgnores | kServerAlone,
      Switch<&FederatedSection::tasks>("federated.tasks", "--tasks",
                                       "write tasks.csv, up to a million tasks") |
          kReadByRuns | kMayReplay | kLeavesResults | kStudyIgnores,
  };
}

OptionTable<FederatedSection> OptionsOfLines() {
  return {
      Text<&FederatedSection::at>("federated.at", "--at", "NAME",
                                  "place of the server [the population's]") |
          kBoth | kReadByPopulations | kMayReplay | kServerAlone | kUsual,
      Text<&FederatedSection::server_rate>("federated.server_rate", "--server-rate", "RATE",
                                           "rate of the server's line [the population's, 10Gbps]") |
          kBoth | kMayReplay | kServerAlone,
      Text<&FederatedSection::server_price>(
          "federated.server_price", "--server-price", "USD",
          "USD per GB that leaves the server, or out/in [the population's]") |
          kBoth | kMayReplay | kServerAlone,
      Text<&FederatedSection::price>(
          "federated.price", "--price", "USD",
          "USD per GB that clients of broadband and phones send, or sent/got") |
          kBoth | kReadByPopulations | kMayReplay,
      Number<&FederatedSection::prices>("federated.prices", "--prices",
                                        "factor on all prices, those of clients' hours included", 0,
                                        kMostFactor) |
          kBoth | kMayReplay,
      Number<&FederatedSection::core_rates>(
          "federated.core_rates", "--core-rates",
          "factor on the rates of the topology's own links, between the access lines", kLeastFactor,
          kMostFactor) |
          kBoth | kMayReplay,
      Number<&FederatedSection::core_delays>("federated.core_delays", "--core-delays",
                                             "factor on their delays", 0, kMostFactor) |
          kBoth | kMayReplay,
  };
}

}  // namespace

const OptionTable<FederatedSection>& FederatedOptionRows() {
  static const auto options = JoinedTables<FederatedSection>({
      {"Clients", OptionsOfClients()},
      {"Work", OptionsOfWork()},
      {"Exchange", OptionsOfExchange()},
      {"Server", OptionsOfServer()},
      {"Learning", OptionsOfLearning()},
      {"Lines and prices", OptionsOfLines()},
  });
  return options;
}

const FederatedOption& FederatedRow(const std::string& flag) {
  return OptionOfFlag(FederatedOptionRows(), flag);
}

}  // namespace legacy
