#include "scenarios/command_line.h"

#include <CLI/CLI.hpp>
#include <map>
#include <vector>

#include "compress/error.h"
#include "scenarios/network/parse.h"

namespace legacy {
namespace {

std::string Section(const std::string& key) { return key.substr(0, key.find('.')); }

}  // namespace

CommandLine ParseCommandLine(int argc, char** argv, const std::string& program,
                             const std::string& description) {
  CommandLine line;
  for (int i = 0; i < argc; ++i) line.text += (i ? " " : "") + std::string(argv[i]);
  std::map<std::string, std::string> ns3;
  std::vector<std::string> arguments = TakeNs3Attributes(argc, argv, ns3);

  CLI::App app(description, program);
  app.set_help_flag("--help,-h,--PrintHelp", "print this and end");
  app.get_formatter()->column_width(36);
  app.footer(
      "ns-3 attributes: --ns3::TcpSocket::SegmentSize=1000 and the like reach ns-3.\n"
      "Handbook: docs/. A file with all values: --print-config.");
  std::string file;
  std::vector<std::string> sets;
  app.add_option("--scenario", file, "YAML file; options on the command line win over it")
      ->type_name("FILE");
  app.add_option("--set", sets, "set one key, as in --set network.delay=50us; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--print-config", line.print_config, "print the effective scenario and end");

  const Scenario defaults;
  std::vector<std::string> values(ScenarioOptions().size());
  std::vector<CLI::Option*> parsed;
  for (size_t i = 0; i < values.size(); ++i) {
    const ScenarioOption& option = ScenarioOptions()[i];
    const std::string fallback = option.get(defaults);
    parsed.push_back(app.add_option(option.flag, values[i],
                                    option.help + (fallback.empty() ? "" : " [" + fallback + "]"))
                         ->take_last()
                         ->type_name(option.metavar)
                         ->group(Section(option.key)));
    if (option.metavar == kSwitch) parsed.back()->expected(0, 1);  // "--record" alone switches on
  }

  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    line.exit = app.exit(error) == 0 ? 0 : 2;
    return line;
  }

  if (!file.empty()) LoadScenario(file, line.scenario);
  for (const std::string& text : sets) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set", text, "KEY=VALUE");
    SetOption(line.scenario, text.substr(0, equals), text.substr(equals + 1));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (parsed[i]->count() == 0) continue;
    const ScenarioOption& option = ScenarioOptions()[i];
    const bool alone = values[i].empty() && option.metavar == kSwitch;
    option.set(line.scenario, option.flag, alone ? "on" : values[i]);
  }
  for (const auto& [name, value] : ns3) line.scenario.ns3[name] = value;
  return line;
}

}  // namespace legacy
