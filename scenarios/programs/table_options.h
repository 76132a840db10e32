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
      : options_(std::move(table)), texts_(options_.size()) {
    for (size_t i = 0; i < options_.size(); ++i) {
      const Option<Struct>& option = options_[i];
      const std::string fallback = defaults ? option.get(*defaults) : "";
      const bool listed = !lists || lists(option);
      const std::string flags = option.alias.empty() ? "" : "," + option.alias;
      parsed_.push_back(
          app.add_option(option.flag + flags, texts_[i],
                         option.help + (fallback.empty() ? "" : " [" + fallback + "]"))
              ->take_last()
              ->type_name(option.metavar)
              // Without a group it is not in --help.
              ->group(listed ? HelpGroup(option.Group(), option.Has(kUsual)) : ""));
      if (MayStandAlone(option)) parsed_.back()->expected(0, 1);  // "--record" alone is on
    }
  }

  TableOptions(const TableOptions&) = delete;
  TableOptions& operator=(const TableOptions&) = delete;

  // Sets what the line gives. Throws Error on values that are not allowed.
  void Apply(Struct& values) const {
    for (size_t i = 0; i < options_.size(); ++i) {
      if (parsed_[i]->count() == 0) continue;
      const bool alone = texts_[i].empty() && MayStandAlone(options_[i]);
      options_[i].set(values, options_[i].flag, alone ? "on" : texts_[i]);
    }
  }

 private:
  static bool MayStandAlone(const Option<Struct>& option) {
    return option.metavar == kSwitch || option.metavar.front() == '[';
  }

  OptionTable<Struct> options_;
  std::vector<std::string> texts_;  // which the parser writes; never resized
  std::vector<CLI::Option*> parsed_;
};

}  // namespace legacy
