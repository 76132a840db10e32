#include "base/programs/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <sstream>

#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "base/programs/terminal.h"
#include "base/words.h"

namespace legacy {
namespace {

constexpr size_t kColumn = 36;  // column where the descriptions of options begin

constexpr const char* kRarely = ", rarely used";  // end of the names of groups

bool IsRare(const std::string& group) { return group.ends_with(kRarely); }

// Returns the text with the examples of our programs, which have a line each, written as the reader
// calls the programs.
std::string AsCalled(std::string text) {
  const std::string begin = "\n  ", program = "legacy-";
  for (size_t at = 0; (at = text.find(begin + program, at)) != std::string::npos;) {
    at += begin.size();
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string called = CommandOf(text.substr(at, end - at));
    text.replace(at, end - at, called);
    at += called.size();
  }
  return text;
}

bool lists_all = false;  // whether --help=all was given

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kColumn); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = Formatter::make_help(app, std::move(name), mode);
    // Groups that are left out leave blank lines.
    for (size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
    return help;
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (IsRare(group) && !lists_all) return "";
    return Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
  std::string make_footer(const CLI::App* app) const override {
    const auto rare = [](const CLI::Option* option) { return IsRare(option->get_group()); };
    const size_t more = lists_all ? 0 : app->get_options(rare).size();
    const std::string footer = Wrapped(AsCalled(Formatter::make_footer(app)), OutputColumns(), 4);
    if (more == 0) return footer;
    return "--help=all lists all options, " + std::to_string(more) + " more.\n" + footer;
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return Formatter::make_usage(app, name.empty() ? name : CommandOf(name));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(Formatter::make_option_desc(option), OutputColumns() - kColumn);
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, sub->get_display_name(true),
                             Wrapped(sub->get_description(), OutputColumns() - kColumn), kColumn);
    return text.str();
  }
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(Formatter::make_description(app), OutputColumns()) + "\n";
  }
};

// Returns `text` as a cell of a Markdown table.
std::string CellText(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '<' ? std::string("&lt;") : std::string(1, c);
  }
  return cell;
}

// Prints the options of `app`, with a table for each group, and those of its subcommands, under a
// heading of this level.
void PrintMarkdown(const CLI::App& app, const std::string& name, size_t level) {
  const std::string heading(level, '#');
  std::printf("%s %s\n\n%s\n", heading.c_str(), name.c_str(), app.get_description().c_str());
  for (const std::string& group : app.get_groups()) {
    if (group.empty()) continue;
    const auto in_group = [&](const CLI::Option* option) { return option->get_group() == group; };
    const auto options = app.get_options(in_group);
    if (options.empty()) continue;
    std::printf("\n%s# %s\n\n| option | value | what it does |\n|---|---|---|\n", heading.c_str(),
                group.c_str());
    for (const CLI::Option* option : options) {
      const bool positional = option->get_positional();
      std::printf("| `%s` | %s | %s |\n", option->get_name(positional, !positional).c_str(),
                  CellText(option->get_type_size() == 0 ? "" : option->get_type_name()).c_str(),
                  CellText(option->get_description()).c_str());
    }
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    std::printf("\n");
    PrintMarkdown(*sub, name + " " + sub->get_name(), level + 1);
  }
}

void AddNames(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden options
    for (const std::string& name : option->get_lnames()) {
      names.push_back(std::string("--").append(name));
    }
  }
  for (const CLI::App* used : app.get_subcommands()) AddNames(*used, names);
}

// Prints the words that a command line may have, for completion by shells.
void PrintWords(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    names.push_back(sub->get_name());
    AddNames(*sub, names);
  }
  AddNames(app, names);
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
}

std::vector<std::string> Subcommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

// Returns the message about a first argument where a subcommand is needed.
std::string NoSubcommand(const CLI::App& app, const std::string& first) {
  const std::vector<std::string> names = Subcommands(app);
  const bool word = !first.empty() && first.front() != '-';
  return word ? NotAmong("subcommand", first, names).what()
              : "a subcommand is needed: " + Join(names, ", ");
}

// Returns the message about arguments that no option takes.
std::string Unexpected(const CLI::App& app) {
  std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return "unexpected argument";
  const std::string given = rest.front().substr(0, rest.front().find('='));
  if (given.front() != '-') {
    return "unexpected argument '" + given + "'" + DidYouMean(given, Subcommands(app));
  }
  std::vector<std::string> names;
  AddNames(app, names);
  return "unknown option '" + given + "'" + DidYouMean(given, names);
}

}  // namespace

namespace {

void AddHidden(CLI::App& app, const char* flag, void (*print)(const CLI::App&)) {
  const auto printed = [&app, print] {
    print(app);
    throw CLI::Success();
  };
  app.add_flag_callback(flag, printed)->group("");
}

}  // namespace

std::string HelpGroup(const std::string& group, bool usual) {
  return usual ? group : group + kRarely;
}

void PrepareArguments(CLI::App& app) {
  app.set_help_flag("--help,-h,--PrintHelp", "print this help and exit");
  if (app.get_parent() == nullptr) {
    app.set_version_flag("--version", app.get_name() + " " + VersionText(),
                         "print the version and exit");
    AddHidden(app, "--complete", PrintWords);
  }
  AddHidden(app, "--help-markdown", [](const CLI::App& a) {
    const CLI::App* const parent = a.get_parent();
    PrintMarkdown(a, (parent == nullptr ? "" : parent->get_name() + " ") + a.get_name(), 1);
  });
  app.formatter(std::make_shared<HelpFormatter>());
}

void AddPluginOption(CLI::App& app) {
  app.fallthrough();
  app.add_option_function<std::vector<std::string>>(
         "--plugin", [](const std::vector<std::string>&) {},
         "load codecs and policies from a plugin; repeatable; ./waf plugin builds one from "
         "a C++ file (docs/tutorials/add-a-codec.md)")
      ->type_name("FILE.so")
      ->allow_extra_args(false);
}

std::optional<int> ParseArguments(CLI::App& app, std::vector<std::string> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (IsUtf8(arguments[i])) continue;
    std::fprintf(stderr, "%s: argument %zu: bytes that are no text; allowed: UTF-8\n",
                 app.get_name().c_str(), i + 1);
    return kRefused;
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  const auto all = std::ranges::find(arguments, "--help=all");
  lists_all = all != arguments.end();
  if (lists_all) *all = "--help";
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
    return std::nullopt;
  } catch (const CLI::Success& done) {  // help, version
    return app.exit(done);
  } catch (const CLI::ExtrasError&) {
    std::fprintf(stderr, "%s\n", ErrorMessage(app.get_name(), Unexpected(app)).c_str());
  } catch (const CLI::ParseError& error) {
    // A required subcommand is missed before a required option.
    const bool none = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
                      app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
    std::fprintf(
        stderr, "%s\n",
        ErrorMessage(app.get_name(), none ? NoSubcommand(app, first) : error.what()).c_str());
  }
  std::fprintf(stderr, "%s --help lists the options\n", CommandOf(app.get_name()).c_str());
  return kRefused;
}

std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv) {
  return ParseArguments(app, std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace legacy
