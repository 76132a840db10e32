#include "trainer/data/task_catalog.h"

#include <algorithm>

namespace legacy {
namespace {

using Better = Metric::Better;

const std::vector<TaskInfo>& TaskRows() {
  static const Metric perplexity = {"perplexity", "perplexity", Better::kLower, false};
  static const std::vector<TaskInfo> rows = {
      {TaskKind::kClassification,
       "classification",
       "cross entropy of the class of an image",
       {{"accuracy", "accuracy", Better::kHigher, true},
        {"top5", "top-5 accuracy", Better::kHigher, true}}},
      {TaskKind::kLanguageModelling,
       "language-modelling",
       "cross entropy of the next word; perplexity is exp(sum of losses / number of words)",
       {perplexity}},
      {TaskKind::kCharacterModelling,
       "character-modelling",
       "cross entropy of the next character; bits per character are log2 of the perplexity",
       {perplexity, {"bits_per_character", "bits per character", Better::kLower, false}}},
      {TaskKind::kRecommendation,
       "recommendation",
       "binary cross entropy of a user and an item, against drawn negatives",
       {{"hr10", "HR@10", Better::kHigher, true}, {"ndcg10", "NDCG@10", Better::kHigher, true}}},
  };
  return rows;
}

}  // namespace

const TaskInfo& InfoOf(TaskKind kind) {
  return *std::ranges::find(TaskRows(), kind, &TaskInfo::kind);
}

}  // namespace legacy
