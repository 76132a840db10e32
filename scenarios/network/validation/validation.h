// Validation: published figures of other simulators, closed forms, and the engines against each
// other, as CSV files and as the tables of docs/validation.md. What is compared and why:
// docs/validation.md.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace legacy {

struct ValidationOptions {
  // Folder of a CSV file for each section, made where it is missing. Empty: docs/validation; of a
  // sample the one that came with the toolkit, wherever it runs.
  std::string out_directory;
  // Markdown file whose tables, between "<!-- table: NAME -->" and "<!-- end -->", are written
  // anew; empty: none.
  std::string document;
  // Which sections to run, of ValidationSections(); empty: all.
  std::vector<std::string> sections;
  // Runs only the cases that are marked as quick, compares them with the CSV files and writes
  // nothing.
  bool sample = false;
  // Simulations that run at once, each in a process of its own.
  int processes = 1;
};

// Names of the sections, in the order in which they run.
std::vector<std::string> ValidationSections();

// Runs them and prints the tables, with what does not hold, on `text`. True where every target
// holds (and, for a sample, every figure is the recorded one). Throws Error on unknown sections and
// on files that cannot be read or written; writes nothing then.
bool RunValidation(const ValidationOptions& options, std::ostream& text);

}  // namespace legacy
