#include "analysis/pictures/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analysis/csv.h"
#include "analysis/curves.h"
#include "analysis/drawing.h"
#include "analysis/gnuplot.h"
#include "analysis/pictures/decision_picture.h"
#include "analysis/pictures/federated_pictures.h"
#include "analysis/pictures/metric_plot.h"
#include "analysis/step_parts.h"
#include "analysis/table_text.h"
#include "base/files/whole_file.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::array<Unit, 1> kRoundUnits = {{{"", 1}}};
constexpr std::array<Unit, 4> kUsdUnits = {
    {{"µUSD", 1e-6}, {"mUSD", 1e-3}, {"USD", 1}, {"thousand USD", 1e3}}};

// Returns the blocks $partJ with middle, row, left, right, bottom and top of each bar, and $totals
// with right end, row and text.
std::string SplitData(const std::vector<const PolicySummary*>& policies, const Unit& unit,
                      double& most) {
  std::vector<double> ends(policies.size(), 0);
  std::string text;
  for (size_t j = 0; j < kStepParts.size(); ++j) {
    text += fmt::format("$part{} << END\n", j);
    for (size_t i = 0; i < policies.size(); ++i) {
      const double row = -static_cast<double>(i);
      const double left = ends[i];
      ends[i] += policies[i]->step.*kStepParts[j].seconds / unit.size;
      text += fmt::format("{} {} {} {} {} {}\n", CsvNumber((left + ends[i]) / 2), CsvNumber(row),
                          CsvNumber(left), CsvNumber(ends[i]), CsvNumber(row - 0.34),
                          CsvNumber(row + 0.34));
    }
    text += "END\n";
  }
  text += "$totals << END\n";
  for (size_t i = 0; i < policies.size(); ++i) {
    text += fmt::format("{} -{} \"{:.4g} {}\"\n", CsvNumber(ends[i]), i,
                        policies[i]->step_seconds.mean / unit.size, unit.name);
    most = std::max(most, ends[i]);
  }
  return text + "END\n";
}

Picture SplitPicture(const std::vector<const PolicySummary*>& policies, const Summary& summary) {
  double longest = 0, most = 0;
  for (const PolicySummary* policy : policies) {
    longest = std::max(longest, policy->step_seconds.mean);
  }
  const Unit unit = UnitFor(kTimeUnits, longest);
  std::string script = SplitData(policies, unit, most);
  const int height = 190 + 40 * static_cast<int>(policies.size());
  script += PictureStart("What a training step's simulated time goes to",
                         fmt::format("{} workers, {} fidelity, mean over steps and seeds",
                                     summary.workers, summary.fidelity),
                         kPictureWidth, height);
  std::vector<std::string> names;
  for (size_t i = 0; i < policies.size(); ++i) {
    names.push_back(
        fmt::format("{} -{}", QuoteTick(Shorten(policies[i]->name, kPolicyNameLimit)), i));
  }
  script += fmt::format("set xlabel 'mean step time [{}]'\nset ytics scale 0 ({}) noenhanced\n",
                        unit.name, fmt::join(names, ", "));
  script +=
      fmt::format("set xrange [0:{}]\nset yrange [{}:0.6]\n", CsvNumber(most > 0 ? most * 1.2 : 1),
                  CsvNumber(0.4 - static_cast<double>(policies.size())));
  script +=
      "set key outside right center vertical Left reverse noenhanced samplen 1.5 spacing 1.2\n"
      "set grid xtics noytics back ls 100\n"
      "set style fill solid 1 border rgb 'white'\n";
  std::vector<std::string> parts;
  for (size_t j = 0; j < kStepParts.size(); ++j) {
    parts.push_back(fmt::format("$part{} using 1:2:3:4:5:6 with boxxyerror lc rgb '{}' title '{}'",
                                j, kStepParts[j].colour, kStepParts[j].name));
  }
  parts.push_back("$totals using 1:2:3 with labels left offset 0.6,0 notitle");
  script += Output("step-split", kPictureWidth, height,
                   fmt::format("plot {}\n", fmt::join(parts, ", \\\n     ")));
  return {"step-split", std::move(script)};
}

// Adds the metric against rounds and USD, of federated runs.
void AddRoundPictures(std::vector<Picture>& pictures, const RunDirectory& run,
                      const Summary& summary) {
  if (!summary.federated) return;
  std::map<std::pair<std::string, uint64_t>, std::vector<const RoundRow*>> rounds;
  for (const RoundRow& row : run.rounds) rounds[{row.policy, row.seed}].push_back(&row);
  const auto totals = [&](const EvaluationRow& row) {
    return TotalsTo(rounds[{row.policy, row.seed}], row.step);
  };
  const auto counts =
      MetricCurves(run, summary, [&](const EvaluationRow& row) { return totals(row).rounds; });
  if (counts.empty()) return;
  pictures.push_back(
      MetricPicture("metric-rounds", PlotOf("rounds", "rounds", kRoundUnits, counts, summary)));
  if (!summary.priced) return;
  const auto usd =
      MetricCurves(run, summary, [&](const EvaluationRow& row) { return totals(row).usd; });
  pictures.push_back(MetricPicture(
      "metric-usd", PlotOf("USD", "USD of transfers and client hours", kUsdUnits, usd, summary)));
}

}  // namespace

std::vector<Picture> MakePictures(const RunDirectory& run, const Summary& summary) {
  std::vector<Picture> pictures;
  if (const auto plot = TimePlot(run, summary)) {
    pictures.push_back(MetricPicture("metric-time", *plot));
  }
  const auto bytes = MetricCurves(run, summary, &EvaluationRow::nic_bytes);
  if (!bytes.empty()) {
    pictures.push_back(MetricPicture(
        "metric-bytes",
        PlotOf("bytes sent", "bytes out of one worker's NIC", kByteUnits, bytes, summary)));
  }
  AddRoundPictures(pictures, run, summary);
  std::vector<const PolicySummary*> stepped;
  for (const PolicySummary& policy : summary.policies) {
    if (policy.step_seconds.count > 0) stepped.push_back(&policy);
  }
  if (!stepped.empty()) pictures.push_back(SplitPicture(stepped, summary));
  if (std::optional<Picture> decisions = DecisionPicture(run, summary)) {
    pictures.push_back(std::move(*decisions));
  }
  const std::vector<FederatedPolicy> policies = FederatedPolicies(run, summary);
  for (auto make : {ParticipationPicture, StalenessPicture}) {
    if (std::optional<Picture> picture = make(policies)) pictures.push_back(std::move(*picture));
  }
  return pictures;
}

DrawnPictures DrawPictures(const RunDirectory& run, const Summary& summary,
                           const std::string& gnuplot) {
  DrawnPictures drawn;
  const std::vector<Picture> pictures = MakePictures(run, summary);
  for (const Picture& picture : pictures) {
    drawn.files.push_back(run.path / (picture.name + ".gp"));
    ReplaceFile(drawn.files.back(), picture.script);
  }
  for (const Picture& picture : pictures) {
    const std::string script = picture.name + ".gp";
    const auto outputs = OutputFiles(run.path, picture.name);
    // No picture is older than its script.
    for (const fs::path& path : outputs) fs::remove(path);
    const GnuplotResult result = RunGnuplot(run.path, script, gnuplot);
    if (!result.found) {
      drawn.warnings.push_back(fmt::format(
          "no pictures: {} cannot be started (Debian: apt install gnuplot-nox); the scripts are {}",
          gnuplot, (run.path / "*.gp").string()));
      return drawn;
    }
    const bool made = std::ranges::all_of(outputs, IsWholePicture);
    if (made) {
      UndatePdf(outputs.back());
      drawn.files.insert(drawn.files.end(), outputs.begin(), outputs.end());
    }
    // gnuplot's remarks on a drawing that succeeded are about ranges, and are not shown.
    if (!result.ok || !made) {
      for (const fs::path& path : outputs) fs::remove(path);
      drawn.warnings.push_back(
          fmt::format("gnuplot {}: {}", (run.path / script).string(),
                      result.ok ? "a picture was cut, as on a full disk" : result.message));
    }
  }
  return drawn;
}

}  // namespace legacy::analysis
