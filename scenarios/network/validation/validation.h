// Validation compares the engines with published figures of other simulators, with closed forms and
// with each other. It writes CSV files and the tables of docs/results/validation.md, which says
// what is compared and why.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace legacy {

// ValidationOptions say what to run.
struct ValidationOptions {
  // Folder of a CSV file for each section; it is made where it is missing. Empty:
  // docs/results/validation, or for a sample the folder that came with the toolkit.
  std::string out_directory;
  // Markdown file whose tables, between "<!-- table: NAME -->" and "<!-- end -->", are rewritten;
  // empty: none.
  std::string document;
  // Sections to run, of ValidationSections(); empty: all.
  std::vector<std::string> sections;
  // True: only the cases that are marked as quick run. They are compared with the CSV files, and
  // nothing is written.
  bool sample = false;
  // CSV file of traces of a line (fabric/schedule/link-trace.h), for the section `schedules`;
  // empty: it draws its own.
  std::string traces;
  // Number of simulations that run at once, each in a process of its own.
  int processes = 1;
};

struct SectionRun;
struct SectionResult;

// Adds a section after those of the network, for parts of the toolkit that this folder does not
// know.
void AddValidationSection(const char* name, SectionResult (*validate)(const SectionRun&));

// Returns the names of the sections, in the order in which they run.
std::vector<std::string> ValidationSections();

// Runs the sections and prints the tables, the missed targets and how many figures have a limit on
// `text`, and the cases that have run on `progress`. Returns true where
// every target holds (and, for a sample, every figure is the recorded one). Throws Error on unknown
// sections and on files that cannot be read or written; writes nothing then.
bool RunValidation(const ValidationOptions& options, std::ostream& text, std::ostream& progress);

}  // namespace legacy
