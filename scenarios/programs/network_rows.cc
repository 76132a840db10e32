// The rows of the options of legacy-network that do not describe the experiment.
#include "base/error.h"
#include "base/option_forms.h"
#include "scenarios/programs/network_command.h"

namespace legacy {
namespace {

using namespace option_forms;

Option<NetworkCommand> OfOutputs(const Option<NetworkOutputs>& row) {
  return OptionOfPart<NetworkCommand>(
      row, [](auto& command) -> auto& { return command.outputs; });
}

// Makes the row of an option that names a file of results.
template <auto Field>
Option<NetworkCommand> File(const std::string& name, const std::string& help) {
  return OfOutputs(Text<Field>(name, "--" + name, "FILE", help));
}

// Makes the row of an option that names a file which ns-3 writes.
template <auto Field>
Option<NetworkCommand> PacketFile(const std::string& name, const std::string& help) {
  return OptionOfPart<NetworkCommand>(
             Text<Field>(name, "--" + name, "FILE", "with packet fidelity: " + help),
             [](auto& command) -> auto& { return command.outputs.packet; }) |
         kOfOneRun;
}

OptionTable<NetworkCommand> OptionsOfSweeps() {
  return {Repeated<&NetworkCommand::sweeps>(
      "sweep", "--sweep", "NAME=VALUES",
      "values of an option above, as in bytes=1KB..1GB:x4, workers=4..64:+4 or "
      "bandwidth=1Gbps,10Gbps; repeatable, for a grid")};
}

OptionTable<NetworkCommand> OptionsOfResults() {
  using Outputs = NetworkOutputs;
  return {
      File<&Outputs::csv>(
          "csv",
          "CSV file of the results, one row per fidelity and repetition; -: standard output"),
      File<&Outputs::json>("json",
                           "JSON file of the results, with the finish times of all workers"),
      File<&Outputs::finish>("finish",
                             "CSV file of the times at which each worker was ready and finished") |
          kOfOneRun,
      File<&Outputs::links>(
          "links",
          "CSV file of bytes, utilisation, drops, marks, queue and (roce) pauses of each link") |
          kOfOneRun,
      File<&Outputs::fct>("fct",
                          "CSV file of start, end and slowdown of each flow, with roce also its "
                          "rate, CNPs and pauses") |
          kOfOneRun,
      File<&Outputs::trace>("trace", "file for a Chrome or Perfetto trace of the first fidelity") |
          kOfOneRun,
      OfOutputs(Text<&Outputs::trace_workers>("trace-workers", "--trace-workers", "LIST",
                                              "endpoints to show in the trace: 0-3,7 or all")),
      File<&Outputs::telemetry>("telemetry",
                                "CSV file of the rate and queue of links over time, with packet "
                                "and flow fidelity") |
          kOfOneRun,
      OfOutputs(Text<&Outputs::telemetry_every>("telemetry-every", "--telemetry-every", "TIME",
                                                "length of the windows of telemetry [100us]")),
      OfOutputs(Text<&Outputs::telemetry_links>(
          "telemetry-links", "--telemetry-links", "LIST",
          "links of the telemetry, also as counters in --trace: all, busiest:N, or names as in "
          "--links [all; in the trace busiest:8]")),
      File<&Outputs::queues>("queues",
                             "with packet fidelity and --transport=roce: CSV file of queues, "
                             "buffers of switches and rates of queue pairs over time") |
          kOfOneRun,
      OfOutputs(Text<&Outputs::sample>("sample", "--sample", "TIME",
                                       "time from sample to sample of --queues [10us]")),
      File<&Outputs::svg>("svg", "SVG picture of the fabric, coloured by utilisation") | kOfOneRun,
      PacketFile<&PacketFiles::pcap>("pcap", "prefix of pcap files, one per host and port"),
      PacketFile<&PacketFiles::flow_monitor>(
          "flow-monitor", "XML file of ns-3's FlowMonitor, with ns3:datacenter or ns3:wan"),
      PacketFile<&PacketFiles::netanim>(
          "netanim", "XML file for the NetAnim player (large), with ns3:datacenter or ns3:wan"),
  };
}

OptionTable<NetworkCommand> OptionsOfDoctor() {
  using Outputs = NetworkOutputs;
  return {
      Flag<&NetworkCommand::doctor>("doctor", "--doctor",
                                    "diagnose the bottleneck of the step or of a list of flows, "
                                    "and what would make it faster"),
      Text<&NetworkCommand::doctor_fidelity>(
          "doctor-fidelity", "--doctor-fidelity", NamesOf(Fidelities(), "|"),
          "network simulation that the doctor uses, about a dozen times"),
      File<&Outputs::doctor_csv>(
          "doctor-csv", "CSV file of the remedies that the doctor tried; implies --doctor") |
          kOfOneRun,
      File<&Outputs::doctor_json>(
          "doctor-json", "JSON file of the remedies that the doctor tried; implies --doctor") |
          kOfOneRun,
      Flag<&NetworkCommand::quiet>("quiet", "--quiet", "do not print the table"),
  };
}

}  // namespace

TimeNs ParseInterval(const std::string& text, const std::string& key) {
  const TimeNs interval = ParseTime(text, key);
  if (interval < 1) throw Error(key, text, "1ns or more");
  return interval;
}

const OptionTable<NetworkCommand>& NetworkRows() {
  static const auto options = [] {
    auto all = JoinedTables<NetworkCommand>({{"Sweep", OptionsOfSweeps()},
                                             {"Output", OptionsOfResults()},
                                             {"Output", OptionsOfDoctor()}});
    AddToAll(all, kUsual);
    return all;
  }();
  return options;
}

}  // namespace legacy
