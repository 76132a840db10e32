// Options of a table (base/options.h) on a command line. The file that parses a line includes this.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/option_forms.h"
#include "base/options.h"
#include "base/programs/arguments.h"

namespace legacy {

// TableOptions are the options of a table on the command line of `app`.
template <class Struct>
class TableOptions {
 public:
  // Help shows the values of `defaults`, where they are known yet, and the options for which
  // `lists` returns true (all where it is empty).
  TableOptions(CLI::App& app, OptionTable<Struct> table, const std::optional<Struct>& defaults,
               const std::function<bool(const Option<Struct>&)>& lists = {})
      : options_(std::move(table)), given_(options_.size()) {
    for (size_t i = 0; i < options_.size(); ++i) {
      const Option<Struct>& option = options_[i];
      const bool listed = !lists || lists(option);
      Add(app, option, defaults, given_[i]);
      // Without a group it is not in --help.
      given_[i].parsed->group(listed ? HelpGroup(option.Group(), option.Has(kUsual)) : "");
    }
  }

  TableOptions(const TableOptions&) = delete;
  TableOptions& operator=(const TableOptions&) = delete;

  // Sets what the line gives. Throws Error on values that are not allowed.
  void Apply(Struct& values) const {
    for (size_t i = 0; i < options_.size(); ++i) {
      const Option<Struct>& option = options_[i];
      const Given& given = given_[i];
      if (given.parsed->count() == 0) continue;
      if (option.Has(kRepeatable)) {
        for (const std::string& text : given.texts) option.set(values, option.flag, text);
      } else if (option.metavar.empty()) {
        option.set(values, option.flag, given.on ? "on" : "off");
      } else {
        const bool alone = given.text.empty() && MayStandAlone(option);
        option.set(values, option.flag, alone ? "on" : given.text);
      }
    }
  }

 private:
  // A Given is what the parser writes for one option: a text, texts, or that it is there.
  struct Given {
    std::string text;
    std::vector<std::string> texts;
    bool on = false;
    CLI::Option* parsed = nullptr;
  };

  static void Add(CLI::App& app, const Option<Struct>& option,
                  const std::optional<Struct>& defaults, Given& given) {
    const std::string flags = option.flag + (option.alias.empty() ? "" : "," + option.alias);
    if (option.metavar.empty()) {
      given.parsed = app.add_flag(flags, given.on, option.help);
      return;
    }
    const std::string fallback = defaults ? option.get(*defaults) : "";
    const std::string help = option.help + (fallback.empty() ? "" : " [" + fallback + "]");
    given.parsed = option.Has(kRepeatable)
                       ? app.add_option(flags, given.texts, help)->allow_extra_args(false)
                       : app.add_option(flags, given.text, help)->take_last();
    given.parsed->type_name(option.metavar);
    if (MayStandAlone(option)) given.parsed->expected(0, 1);  // "--record" alone is on
  }

  static bool MayStandAlone(const Option<Struct>& option) {
    return option.metavar == kSwitch || option.metavar.front() == '[';
  }

  OptionTable<Struct> options_;
  std::vector<Given> given_;  // which the parser writes; never resized
};

}  // namespace legacy
