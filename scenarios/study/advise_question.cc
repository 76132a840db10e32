// The parts of advice other than its figures: setting, caveats, and how to ask more.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/federated/round_figures.h"
#include "analysis/study/quantities.h"
#include "base/error.h"
#include "base/programs/program.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/population_report.h"
#include "scenarios/run/manifest.h"
#include "scenarios/study/advise.h"
#include "scenarios/study/run.h"
#include "scenarios/study/shell.h"
#include "trainer/data/data_catalog.h"

namespace legacy {
namespace {

using analysis::ShowCount;

std::string WorkersText(const Scenario& scenario, bool rates_given) {
  std::string text = fmt::format("{} of {}, {}", ShowCount(scenario.workers, "worker"),
                                 ShowCount(scenario.batch, "sample"), scenario.topology);
  if (!rates_given) text += " at " + scenario.bandwidth.text();
  if (scenario.stragglers != "none") text += ", stragglers " + scenario.stragglers;
  return text;
}

std::string ClientsText(const AdviseRequest& request, const Scenario& scenario) {
  const FederatedSection& options = *scenario.federated;
  const PlanRequest plan = RequestOf(scenario, scenario.seed);
  std::string text = ShowCount(plan.population.Clients(), "client") + " of " + options.population;
  if (plan.exchange) {
    text += ", " + options.exchange.text();
  } else if (const auto* sync = std::get_if<fabric::SyncOptions>(&plan.server)) {
    text += fmt::format(", {} a round", sync->perRound);
  } else {
    text += ", " + options.server.text();
  }
  text += ", " + options.local.text();
  if (request.rows.front().name == kAdviceBaseline) text += ", " + request.rows.front().algorithm;
  return text;
}

std::string SettingText(const AdviseRequest& request, const Scenario& quick, bool rates_given) {
  return fmt::format(
      "{} on {}, {}, {} fidelity", ModelText(quick), quick.dataset,
      quick.federated ? ClientsText(request, quick) : WorkersText(quick, rates_given),
      quick.fidelity.text());
}

std::string RatesCaveat(const Scenario& quick, bool rates_given) {
  if (!quick.federated) {
    return rates_given ? "no rate here depends on --bandwidth, so there is no break-even bandwidth "
                         "to tell."
                       : "";
  }
  if (rates_given) {
    return fmt::format(
        "what is learnt depends on the lines ({}), so everything was trained on the lines as they "
        "are, and nothing is known of others: ask again with --up-rates and --down-rates.",
        fmt::join(CouplingsOf(quick), "; "));
  }
  return fmt::format(
      "all clients' lines became slower and faster together, both ways. Rates name the uplink of "
      "the median client, {} as it is.",
      analysis::ShowQuantity(MedianUplink(quick), "bit/s"));
}

std::vector<std::string> CaveatsOf(const AdviseRequest& request, const Scenario& quick,
                                   const Metric& metric, bool rates_given) {
  std::vector<std::string> caveats;
  const char* const noun = quick.federated ? "round" : "step";
  const int64_t full = StepsOf(request.scenario);
  if (request.quick_steps < full) {
    caveats.push_back(fmt::format(
        "the training was short: {} of {} {}s, warm-up and decay in proportion. The last gains "
        "of {} in a full training, where compression may cost, show in a full study alone.",
        request.quick_steps, full, noun, metric.title));
  }
  if (!quick.times_of.empty()) caveats.push_back(TimesOfText(quick) + ".");
  if (std::ranges::any_of(request.rows, &AdvisedRow::compresses_down)) {
    caveats.emplace_back(
        "in a/b, a is how updates travel, and b how models do; without b models travel whole.");
  }
  caveats.push_back(fmt::format("times are known to the next evaluation, every {}.",
                                ShowCount(quick.evaluate_every, noun)));
  if (quick.policies.size() > 2) {
    caveats.push_back(
        fmt::format("the best of {} methods looks better than it is: each interval holds for its "
                    "method alone.",
                    quick.policies.size() - 1));
  }
  caveats.push_back(fmt::format("devices are timed by the profile {}{}, not by this machine.",
                                quick.device_profile,
                                quick.federated ? ", or those of the population" : ""));
  if (!quick.federated && quick.stragglers != "none") {
    caveats.push_back(
        fmt::format("workers are uneven (--stragglers={}); --stragglers=none makes them equal.",
                    quick.stragglers));
  }
  if (*quick.fidelity != Fidelity::kPacket) {
    caveats.push_back(
        fmt::format("the network was simulated at {} fidelity; --fidelity=packet looks closer and "
                    "takes longer.",
                    quick.fidelity.text()));
  }
  const std::string rates = RatesCaveat(quick, rates_given);
  if (!rates.empty()) caveats.push_back(rates);
  return caveats;
}

// Returns true if the baseline reached the target by its third evaluation: before that, no policy
// can be shown to be faster.
bool ReachedAtOnce(const analysis::Study& study) {
  return std::ranges::any_of(study.points, [&](const analysis::StudyPoint& point) {
    return point.policy == study.baseline && point.curve.size() >= 3 &&
           point.figures.steps_to_target == point.curve[2].step;
  });
}

// Returns the value of the metric that guessing reaches; 0 if it is not known. It is known only for
// the share of correct classes.
double GuessingOf(const Scenario& scenario, const Metric& metric) {
  const CatalogEntry& data = FindInCatalog(scenario.dataset);
  const bool known =
      data.task == TaskKind::kClassification && metric == MetricsOf(scenario).front();
  return known && data.classes > 0 ? 1.0 / data.classes : 0;
}

std::string CommandText(const AdviseRequest& request) {
  const std::string program = request.scenario.federated ? "legacy-federated" : "legacy-scenario";
  std::vector<std::string> words = {"advise"};
  for (const std::string& word : request.arguments) {
    if (word != "--json" && word != "--resume") words.push_back(word);
  }
  words.emplace_back("--print-config");
  return ProgramLine(program, words) + " > study.yaml && " + CommandOf("legacy-study") +
         " run study.yaml";
}

analysis::AdviceClients ClientsOf(const AdviseRequest& request) {
  analysis::AdviceClients clients;
  clients.server = request.scenario.federated->HasServer();
  for (const AdvisedRow& row : request.rows) {
    using Way = analysis::AdviceWay;
    const Way way = row.compresses_up && row.compresses_down ? Way::kBoth
                    : row.compresses_up                      ? Way::kUp
                    : row.compresses_down                    ? Way::kDown
                                                             : Way::kNone;
    clients.rows.push_back({.way = way});
  }
  return clients;
}

}  // namespace

bool ChoosesTarget(const Scenario& scenario) {
  return scenario.target->kind == TargetChoice::Kind::kAuto;
}

double MedianUplink(const Scenario& scenario) {
  const PlanRequest plan = RequestOf(scenario, scenario.seed);
  const PopulationView view = ViewPopulation(plan.population, "always", scenario.seed);
  std::vector<double> rates;
  for (const PopulationView::Group& group : view.groups) {
    rates.insert(rates.end(), group.up.begin(), group.up.end());
  }
  return analysis::Quantile(std::move(rates), 0.5);
}

analysis::AdviceQuestion QuestionOf(const AdviseRequest& request, const Scenario& quick,
                                    const analysis::Study& study) {
  analysis::AdviceQuestion question;
  const Metric metric = ShownMetric(study);
  const std::vector<std::string>& rates = study.axes.front().values;
  const bool rates_given = rates.size() == 1;
  const bool higher = metric.better == Metric::Better::kHigher;
  const std::string quick_flag = quick.federated ? "--quick-rounds" : "--quick-steps";
  question.value = rates.size() / 2;
  question.setting = SettingText(request, quick, rates_given);
  question.caveats = CaveatsOf(request, quick, metric, rates_given);
  question.quick = quick_flag;
  if (ChoosesTarget(request.scenario)) {
    question.target = fmt::format(
        "the target was chosen: {} what {} has at the end of the short training (mean of its "
        "last three evaluations, worst seed). --target sets another.",
        higher ? "90 % of" : "ten ninths of", study.baseline);
  }
  if (ReachedAtOnce(study)) {
    question.caveats.push_back(fmt::format(
        "{} has the target from its first evaluations on: times say how fast {}s are, not how "
        "well it learns. Take more {} or a {} --target.",
        study.baseline, quick.federated ? "round" : "step", quick_flag,
        higher ? "higher" : "lower"));
  }
  question.command = CommandText(request);
  question.guessing = GuessingOf(quick, metric);
  if (question.guessing == 0) {
    question.caveats.push_back(fmt::format(
        "nothing says which {} a model has that learnt nothing: judge by yourself whether {} has "
        "learnt enough.",
        metric.title, study.baseline));
  }
  if (quick.federated) question.clients = ClientsOf(request);
  return question;
}

}  // namespace legacy
