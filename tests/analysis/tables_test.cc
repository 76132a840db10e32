#include "analysis/tables.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "analysis/table_text.h"
#include "base/files/csv_file.h"
#include "base/programs/terminal.h"
#include "tests/analysis/fixture.h"

namespace legacy::analysis::tables_test {
namespace {

Summary MakeSummary(const std::string& name) {
  RunDirectory run = MakeRun({"dense", "fp16", name}, {1, 2});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, static_cast<double>(seed), {0.5, 0.8, 0.8, 0.8});
    AddTraining(run, "fp16", seed, 0.5, {0.5, 0.8, 0.8, 0.8});
    AddTraining(run, name, seed, 0.25, {0.5, 0.8, 0.7, seed == 1 ? 0.9 : 0.6});
  }
  run.links.push_back({name, 1, "0", std::string(40, 'x'), "y", 1e9, 1, 1, 0, 0, 0, 0, 0.5, 1});
  return Summarise(run);
}

// Returns the line of a table that starts with `start`, with runs of blanks as one.
std::string Line(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(start) != 0) continue;
    std::istringstream words(line);
    std::string result;
    for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
    return result;
  }
  return "no such line";
}

TEST(TextTable, ShowsMeansDeviationsAndCensoredTimes) {
  const std::string text = TextTable(MakeSummary("topk"));
  // Times to the target are 40 and 80 s for dense, 20 s for fp16.
  EXPECT_EQ(Line(text, "dense"), "dense 2/2 80.00 80.00 60.00 ± 28.28 1.00 0.375 ± 0.177 baseline");
  EXPECT_EQ(
      Line(text, "topk"),
      "topk 2/2 75.00 ± 21.21 85.00 ± 7.07 1/2 reached 1/2 reached 1/2 reached -5.00 ± 21.21 (2)");
}

TEST(TextTable, MarksPoliciesThatHardlyDecided) {
  RunDirectory run = MakeRun({"dense", "accordion", "lgreco", "gravac"}, {1, 2});
  for (const char* policy : {"accordion", "lgreco", "gravac"}) run.manifest.decisions[policy] = 9;
  for (const std::string& policy : run.manifest.policies) {
    for (const uint64_t seed : {1, 2}) AddTraining(run, policy, seed, 1, {0.5});
  }
  AddDecisions(run, "accordion", 1, 2, {0});  // the start only
  AddDecisions(run, "lgreco", 1, 2, {0, 2, 4, 6, 8});
  AddDecisions(run, "lgreco", 2, 2, {0, 2, 4, 6});
  AddDecisions(run, "gravac", 1, 1, {0, 2, 4, 6});
  AddDecisions(run, "gravac", 2, 1, {0, 2});  // the seed with the fewest decisions counts
  const Summary summary = Summarise(run);
  const std::string text = TextTable(summary);
  EXPECT_EQ(Line(text, "accordion †").find("accordion † 2/2"), 0u);
  EXPECT_EQ(Line(text, "gravac †").find("gravac † 2/2"), 0u);
  EXPECT_EQ(Line(text, "lgreco †"), "no such line");
  EXPECT_EQ(Line(text, "dense †"), "no such line");
  EXPECT_EQ(Line(text, "note: accordion"),
            "note: accordion †: its policy never decided: its figures are those of the parameters "
            "that it began with");
  EXPECT_EQ(Line(text, "note: gravac").find("note: gravac †: its policy decided once"), 0u);
  EXPECT_NE(MarkdownTable(summary).find("| accordion † |"), std::string::npos);
  const nlohmann::json policies = ToJson(summary)["policies"];
  EXPECT_EQ(policies[0]["decisions"], nullptr);
  EXPECT_EQ(policies[1]["decisions"], 0);
  EXPECT_EQ(policies[1]["idle"], true);
  EXPECT_EQ(policies[2]["decisions"], 3);
  EXPECT_EQ(policies[2]["idle"], false);
}

TEST(TextTable, ShowsBytesBesideThoseAskedFor) {
  RunDirectory run = MakeRun({"dense", "lgreco"}, {1});
  for (const std::string& policy : run.manifest.policies) AddTraining(run, policy, 1, 1, {0.5});
  EXPECT_EQ(TextTable(Summarise(run)).find("asked for"), std::string::npos);
  run.manifest.requested_bytes["lgreco"] = 81.4;
  const std::string text = TextTable(Summarise(run));
  const std::string volume = text.substr(text.find("Volume against"));
  const std::string dense = Line(volume, "dense"), lgreco = Line(volume, "lgreco");
  EXPECT_EQ(dense.substr(dense.size() - 5), " 80 -");
  EXPECT_EQ(lgreco.substr(lgreco.size() - 6), " 80 81");
}

TEST(TextTable, LeadsWithTheStepWhereNothingWasEvaluated) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1});
  AddTraining(run, "dense", 1, 4, {0.5});
  AddTraining(run, "topk", 1, 1, {0.5});
  run.evaluations.clear();
  run.manifest.target.reset();
  const std::string text = TextTable(Summarise(run));
  const size_t table = text.find("\n\n") + 2;
  EXPECT_EQ(text.substr(table, text.find('\n', table) - table),
            "The mean step in ms, and volume against dense fp32");
  EXPECT_EQ(text.find("Accuracy"), std::string::npos);
  std::istringstream dense(Line(text, "dense")), topk(Line(text, "topk"));
  std::string name, step, speedup;
  dense >> name >> step >> speedup;
  EXPECT_EQ(speedup, "1.00");
  topk >> name >> step >> speedup;
  EXPECT_EQ(speedup, "4.00");
}

TEST(TextTable, ShowsAMetricThatIsNoFraction) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1, 2}, {kPerplexity}, Target{"perplexity", 117.5});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1, {900, 110, 110, 110});
    AddTraining(run, "topk", seed, 1, {900, 120, 112, 110 + 2.0 * static_cast<double>(seed)});
  }
  const std::string text = TextTable(Summarise(run));
  EXPECT_NE(text.find("target perplexity 117.5 (mean of the last 3 evaluations)"),
            std::string::npos);
  EXPECT_NE(text.find("Perplexity, and simulated time to target (TTA)"), std::string::npos) << text;
  EXPECT_EQ(text.substr(0, text.find("Volume")).find('%'), std::string::npos) << text;
  EXPECT_EQ(text.find("ccuracy"), std::string::npos) << text;
  EXPECT_EQ(Line(text, "dense"), "dense 2/2 110.0 110.0 40.00 1.00 baseline");
  EXPECT_EQ(Line(text, "topk"), "topk 2/2 113.0 ± 1.4 112.0 40.00 1.00 +3.000 ± 1.414 (2)");
}

TEST(TextTable, HasWhatRoceDidWhereASwitchHeldItsFrames) {
  RunDirectory run = MakeRun({"dense"}, {1});
  AddTraining(run, "dense", 1, 1, {0.8, 0.8, 0.8});
  EXPECT_EQ(TextTable(Summarise(run)).find("pauses"), std::string::npos);
  run.network[0].roce = {3, .0125, 4, 5, 6, 7, 800, .5};
  const std::string text = TextTable(Summarise(run));
  EXPECT_NE(text.find("pauses  paused %  CNPs  resent  headroom %\n"), std::string::npos) << text;
  EXPECT_NE(text.find("3      1.25     4       6        50.0\n"), std::string::npos) << text;
  EXPECT_NE(CsvTable(Summarise(run)).find(",3,0.0125,4,5,6,7,800,0.5\n"), std::string::npos);
}

// The engine's work is shown only on request, and programs can always read it.
TEST(TextTable, CountsTheSimulationWhereThatIsAskedFor) {
  const Summary summary = MakeSummary("topk");
  for (const char* header : {"events", "packets", "fresh steps", "memoised", "marks"}) {
    EXPECT_EQ(TextTable(summary).find(header), std::string::npos) << header;
    EXPECT_EQ(MarkdownTable(summary).find(header), std::string::npos) << header;
    EXPECT_NE(TextTable(summary, true).find(header), std::string::npos) << header;
    EXPECT_NE(MarkdownTable(summary, true).find(header), std::string::npos) << header;
  }
  for (const char* header : {"time-outs", "drops", "busiest link", "its use %", "peak %"}) {
    EXPECT_NE(TextTable(summary).find(header), std::string::npos) << header;
  }
  EXPECT_NE(CsvTable(summary).find(",events,packets,fresh_steps,memoised_steps,"),
            std::string::npos);
}

TEST(TextTable, FitsTheTerminal) {
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "é";
  for (const std::string& name : {std::string("topk"), std::string(300, 'n'), accents}) {
    std::istringstream lines(TextTable(MakeSummary(name)));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
    }
  }
}

// A narrow terminal has the columns that have no room below the others, and lacks none.
TEST(TextTable, FitsANarrowTerminal) {
  const Summary summary = MakeSummary("legacy-both-with-a-long-name");
  const std::string wide = TextTable(summary);
  setenv("COLUMNS", "80", 1);
  const std::string narrow = TextTable(summary);
  unsetenv("COLUMNS");
  std::istringstream lines(narrow);
  size_t names = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), 80u) << line;
    names += line.starts_with("dense");
  }
  EXPECT_GT(names, SummaryTables(summary).size());
  for (const Table& table : SummaryTables(summary)) {
    for (const std::string& cell : table.header) {
      EXPECT_NE(narrow.find(cell), std::string::npos) << cell;
    }
    for (const std::string& cell : table.rows.front()) {
      EXPECT_NE(narrow.find(cell), std::string::npos) << cell;
    }
  }
  EXPECT_EQ(TextTable(summary), wide);  // nothing changes if there is no terminal
}

TEST(Tables, Shorten) {
  EXPECT_EQ(Shorten("legacy-both", 11), "legacy-both");
  EXPECT_EQ(Shorten("legacy-both", 8), "leg..oth");
  EXPECT_EQ(Shorten("éééééé", 5), "éé..é");
  EXPECT_EQ(DisplayWidth("± é"), 3u);
}

TEST(MarkdownTable, EscapesBars) {
  const std::string text = MarkdownTable(MakeSummary("a|b"));
  EXPECT_EQ(Line(text, "| a\\|b | 2/2").find("| a\\|b | 2/2 | 75.00 ± 21.21 |"), 0u) << text;
}

TEST(CsvTable, HasOneLineAPolicyAndPlainNumbers) {
  const auto rows = CsvCells("table", CsvTable(MakeSummary("a,b")));
  ASSERT_EQ(rows.size(), 4u);
  const std::vector<std::string>&header = rows[0], &fp16 = rows[2], &last = rows[3];
  ASSERT_EQ(header.size(), last.size());
  const auto field = [&](const std::vector<std::string>& row, const std::string& name) {
    return row.at(static_cast<size_t>(std::ranges::find(header, name) - header.begin()));
  };
  EXPECT_EQ(field(last, "policy"), "a,b");
  EXPECT_EQ(field(last, "time_to_target_seconds_reached"), "1");
  EXPECT_EQ(field(last, "time_to_target_seconds_mean"), "");
  EXPECT_EQ(field(fp16, "time_to_target_seconds_mean"), "20");
  EXPECT_EQ(field(fp16, "speedup_over_dense_mean"), "3");
  EXPECT_EQ(field(last, "payload_ratio_mean"), "50");
}

TEST(Tables, AreTheSameEachTime) {
  EXPECT_EQ(TextTable(MakeSummary("topk")), TextTable(MakeSummary("topk")));
  EXPECT_EQ(ToJson(MakeSummary("topk")).dump(), ToJson(MakeSummary("topk")).dump());
}

}  // namespace
}  // namespace legacy::analysis::tables_test