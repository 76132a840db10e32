#include "trainer/clock/record.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/files/plain_file.h"
#include "trainer/clock/record_lines.h"

namespace legacy {

using nlohmann::json;

namespace {

constexpr int64_t kFormatOfTasks = 1;
constexpr int64_t kFormatOfSteps = 2;
constexpr Allowed kBatch = {1, 1 << 20};
constexpr Allowed kSteps = {0, int64_t{1} << 40};

// By enumerator.
constexpr std::array kCollectives = {"all-reduce", "all-gather", "broadcast", "all-to-all",
                                     "block-sparse"};
constexpr std::array kReductions = {"concat",          "sum",    "max",  "vote",
                                    "requantised-sum", "served", "hops", "owned"};
constexpr std::array kHopOrders = {"ring", "butterfly"};
constexpr std::array kCuts = {"values", "rows"};  // by OwnedSlices::rows

// The line of a step of workers.
struct StepLine {
  std::string policy;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t work = 0;  // its number
};

}  // namespace

template <class Line>
void RecordFields(Line& line, Work& work) {
  line.Field("kernel", work.kernel);
  line.Field("elements", work.elements);
  line.Field("launches", work.launches);
  line.Field("sets", work.sets);
  if (line.Has("alike", work.alike != 0)) line.Field("alike", work.alike, kAnyCount);
}

template <class Line>
void RecordFields(Line& line, Unit& layer) {
  line.Field("name", layer.name);
  line.Field("elements", layer.numel, {1, UINT32_MAX});
  // Layers of two dimensions or more have rows, which sharding cuts.
  std::optional<int64_t> rows;
  if (layer.shape.size() > 1) rows = layer.shape.front();
  line.Optional("rows", rows, {1, UINT32_MAX});
  if (rows && layer.shape.empty()) layer.shape = {*rows, layer.numel / *rows};
}

template <class Line>
void RecordFields(Line& line, MatrixProduct& product) {
  line.Amount("rows", product.rows);
  line.Amount("columns", product.columns);
  line.Amount("inner", product.inner);
  line.Amount("count", product.count);
  int64_t apart = product.apart;
  line.Field("apart", apart, {0, 1});
  product.apart = apart == 1;
  int64_t bias = product.bias;
  if (line.Has("bias", product.bias)) line.Field("bias", bias, {1, 1});
  product.bias = bias == 1;
}

template <class Line>
void RecordFields(Line& line, OperationCost& cost, int64_t last_layer) {
  line.Field("kind", cost.kind);
  line.Amount("forward_flops", cost.forward_flops);
  line.Amount("forward_bytes", cost.forward_bytes);
  line.Amount("weight_bytes", cost.weight_bytes);
  line.Field("parameters", cost.parameters, {0, last_layer});
  if (line.Has("products", !cost.products.empty())) line.Rows("products", cost.products);
  if (line.Has("block", cost.block != kNoBlock)) line.Field("block", cost.block, {0, INT32_MAX});
  if (line.Has("forward_sum", cost.forward_sum > 0)) line.Amount("forward_sum", cost.forward_sum);
  if (line.Has("backward_sum", cost.backward_sum > 0)) {
    line.Amount("backward_sum", cost.backward_sum);
  }
  if (line.Has("keys", cost.keys > 0)) line.Amount("keys", cost.keys);
  if (line.Has("experts", cost.experts > 0)) line.Field("experts", cost.experts, {1, INT32_MAX});
  if (line.Has("used", cost.used > 0)) line.Field("used", cost.used, {1, INT32_MAX});
  if (line.Has("dispatch", cost.dispatch > 0)) line.Amount("dispatch", cost.dispatch);
  if (line.Has("combine", cost.combine > 0)) line.Amount("combine", cost.combine);
  int64_t causal = cost.causal;
  if (line.Has("causal", cost.causal)) line.Field("causal", causal, {1, 1});
  cost.causal = causal == 1;
}

template <class Line>
void RecordFields(Line& line, RecordHeader& header) {
  line.Optional("batch", header.batch, kBatch);
  const int64_t allowed = header.batch ? kFormatOfTasks : kFormatOfSteps;
  int64_t format = allowed;
  line.Field("format", format, {kFormatOfTasks, kFormatOfSteps});
  // The first records of steps had format 1, too.
  line.Require(format == allowed, "format: got " + std::to_string(format) +
                                      "; allowed: " + std::to_string(allowed) +
                                      (header.batch ? ", as there is a 'batch'"
                                                    : "; records of steps of format 1 do not say "
                                                      "which launches units share: record the "
                                                      "training again"));
  line.Field("training", header.training);
  const std::string known = header.Hash();
  std::string hash = known;
  line.Field("hash", hash);
  line.Require(hash == known, "hash: got " + hash + ", but 'training' has " + known +
                                  ": it was changed afterwards");
  line.Field("replay_refused", header.replay_refused);
  line.Rows("layers", header.layers);
  line.Require(!header.layers.empty(), "layers: none");
  line.Rows("operations", header.operations, std::ssize(header.layers) - 1);
}

template <class Line>
void RecordFields(Line& line, HopSlice& slice) {
  line.Field("payload", slice.payload);
  line.Field("headers", slice.headers);
  line.Require(slice.headers.size() == slice.payload.size(),
               "headers: one size for each of the payload is wanted");
}

template <class Line>
void RecordFields(Line& line, ServedSlice& slice) {
  line.Field("sent", slice.sent);
  line.Field("answered", slice.answered);
}

template <class Line>
void RecordSlices(Line& line, OwnedSlices& owned, int workers) {
  line.Field("owners", owned.owners, {1, workers});
  line.Require(workers % owned.owners == 0, "owners: a divisor of the workers is wanted");
  line.Choice("cut", owned.rows, kCuts);
  if (line.Has("group", owned.group != 0)) {
    line.Field("group", owned.group, {1, owned.owners});
    line.Field("stride", owned.stride, {1, owned.owners});
    line.Require(owned.owners % (owned.group * owned.stride) == 0,
                 "group, stride: their product divides the owners");
  }
  if (!line.Has("slices", !owned.bytes.empty())) return;
  line.Field("slices", owned.bytes);
  line.Require(std::ssize(owned.bytes) == owned.owners,
               "slices: bytes for each of the owners are wanted");
}

template <class Line>
void RecordFields(Line& line, WeightWork& weights, int workers, int64_t last_layer) {
  line.Field("layer", weights.layer, {0, last_layer});
  RecordSlices(line, weights.slices, workers);
  line.Require(!weights.slices.bytes.empty(), "slices: missing");
  line.Rows("encode", weights.encode);
  line.Rows("decode", weights.decode);
}

template <class Line>
void RecordOwned(Line& line, SentCall& call, int workers) {
  if (line.Has("owners", call.owned.has_value())) {
    OwnedSlices& owned = Emplaced(call.owned);
    RecordSlices(line, owned, workers);
    line.Require(owned.bytes.empty() != call.pair_bytes.empty(),
                 "slices: given by owned sums without pairs, and by these alone");
    line.Require(!call.hops || (owned.group == 0 && !owned.bytes.empty()),
                 "hops: not with pairs or groups");
  }
  line.Require((call.reduction == Reduction::kOwned) == call.owned.has_value(),
               "owners: given by owned sums, and by these alone");
}

template <class Line>
void RecordFields(Line& line, SentCall& call, int workers) {
  line.Choice("primitive", call.collective, kCollectives);
  line.Choice("reduction", call.reduction, kReductions);
  line.Field("root", call.root, {0, workers - 1});
  line.Field("bytes", call.bytes);
  line.Require(std::ssize(call.bytes) == workers, "bytes: got " +
                                                      std::to_string(call.bytes.size()) +
                                                      " messages; allowed: one of each of the " +
                                                      std::to_string(workers) + " workers");
  if (line.Has("pairs", !call.pair_bytes.empty())) {
    line.Field("pairs", call.pair_bytes);
    line.Require(std::ssize(call.pair_bytes) == int64_t{workers} * workers,
                 "pairs: bytes from each worker to each are wanted");
  }
  line.Rows("encode", call.encode);
  line.Rows("decode", call.decode);
  line.Optional("pull", call.pull);
  if (line.Has("serve", !call.serve.empty())) line.Rows("serve", call.serve);
  if (line.Has("served", !call.served.empty())) {
    line.Rows("served", call.served);
    line.Require(call.reduction == Reduction::kServed && call.pull,
                 "served: given by calls that servers answer, and by these alone");
  }
  if (line.Has("hops", call.hops.has_value())) {
    auto& hops = Emplaced(call.hops);
    line.Choice("hops", hops.order, kHopOrders);
    // Those of owned sums are parts of slices.
    line.Rows(call.reduction == Reduction::kOwned ? "parts" : "slices", hops.slices);
    line.Rows("hop", hops.work);
  }
  if (line.Has("block", call.blocks.has_value())) {
    BlockStream& blocks = Emplaced(call.blocks);
    line.Field("block", blocks.bytes, {1, INT32_MAX});
    line.Field("slots", blocks.slots, {1, INT32_MAX});
  }
  const bool blocks = call.collective == Collective::kBlockSparse;
  line.Require(blocks == call.blocks.has_value() && (call.pull || !blocks),
               "block, slots: given by block-sparse sums, which have a pull, and by these alone");
  line.Require(call.reduction == Reduction::kOwned ||
                   (call.reduction == Reduction::kHops) == call.hops.has_value(),
               "hops: given by sums by hops, and by these alone");
  RecordOwned(line, call, workers);
}

template <class Line>
void RecordFields(Line& line, BucketWork& bucket, int workers, int64_t last_layer) {
  line.Field("layers", bucket.layers, {0, last_layer});
  line.Field("elements", bucket.elements);
  line.Rows("rounds", bucket.calls, workers);
}

template <class Line>
void RecordFields(Line& line, StepWork& work, int64_t last_layer) {
  line.Field("workers", work.workers, {1, kMostRecordedWorkers});
  line.Field("batch", work.batch_size, kBatch);
  if (line.Has("passes", work.passes != 1)) line.Field("passes", work.passes, {2, kMostPasses});
  if (line.Has("update", work.update.has_value())) line.Rows("update", Emplaced(work.update));
  line.Rows("buckets", work.buckets, work.workers, last_layer);
  if (line.Has("weights", !work.weights.empty())) {
    line.Rows("weights", work.weights, work.workers, last_layer);
  }
  if (line.Has("whole_gradient", !work.whole_gradient.empty())) {
    line.Rows("whole_gradient", work.whole_gradient);
  }
  if (line.Has("participants", !work.active_workers.empty())) {
    line.Field("participants", work.active_workers, {0, work.workers - 1});
    line.Require(std::ranges::adjacent_find(work.active_workers, std::greater_equal()) ==
                     work.active_workers.end(),
                 "participants: not ascending");
  }
  if (line.Has("local_steps", !work.local_steps.empty())) {
    line.Field("local_steps", work.local_steps);
    line.Require(std::ssize(work.local_steps) == work.workers,
                 "local_steps: one number of each worker is wanted");
  }
}

template <class Line>
void RecordFields(Line& line, StepLine& step) {
  line.Field("policy", step.policy);
  line.Field("seed", step.seed, kAnyCount);
  line.Field("step", step.step, kAnyCount);
  line.Field("work", step.work, kAnyCount);
}

template <class Line>
void RecordFields(Line& line, RecordedTraining& training) {
  line.Field("policy", training.policy);
  line.Field("seed", training.seed, kAnyCount);
  line.Field("update", training.local.update_kernels);
  line.Rows("corrections", training.local.corrections);
}

template <class Line>
void RecordFields(Line& line, VersionWork& work) {
  line.Field("version", work.version, kAnyCount);
  line.Field("down", work.down_bytes);
  const bool known = line.Has("up", work.up_bytes != fabric::kUnknownBytes);
  line.Field(known ? "up" : "expected", known ? work.up_bytes : work.expected_up);
  line.Rows("encode", work.encode);
  if (line.Has("decode", !work.decode.empty())) line.Rows("decode", work.decode);
  if (!line.Has("whole", work.delta.has_value())) return;
  DeltaSize& delta = Emplaced(work.delta);
  line.Field("whole", delta.whole);
  line.Field("sent", delta.sent);
  line.Require(delta.whole <= work.down_bytes, "'whole' is more than 'down', of which it is");
}

template <class Line>
void RecordFields(Line& line, RecordedTask& task) {
  line.Field("task", task.key, kAnyCount);
  line.Field("client", task.client, {0, INT32_MAX});
  line.Field("steps", task.local_steps, kSteps);
  line.Optional("up", task.up_bytes);
  line.Optional("loss", task.loss);
  line.Optional("squares", task.squares);
}

namespace {

// Gives layers their positions. Every layer belongs to one operation, so that there is a time for
// its gradient.
void Arrange(RecordHeader& header, const RowReader& line) {
  int64_t offset = 0;
  for (Unit& layer : header.layers) {
    layer.id = static_cast<uint32_t>(&layer - header.layers.data());
    layer.offset = std::exchange(offset, offset + layer.numel);
    if (layer.shape.empty()) layer.shape = {layer.numel};
    line.Require(layer.numel % layer.shape.front() == 0,
                 "rows: got " + std::to_string(layer.shape.front()) +
                     "; allowed: divisors of the elements, " + std::to_string(layer.numel));
  }
  std::vector<bool> computed(header.layers.size());
  for (const OperationCost& cost : header.operations) {
    for (const int layer : cost.parameters) {
      line.Require(!computed[layer],
                   "parameters: layer " + std::to_string(layer) + " is given twice");
      computed[layer] = true;
    }
  }
  const auto missing = std::ranges::find(computed, false);
  line.Require(missing == computed.end(),
               "operations: none has layer " + std::to_string(missing - computed.begin()));
}

class RecordReader {
 public:
  explicit RecordReader(const std::filesystem::path& path)
      : path_(path.string()), file_(OpenToRead(path_)) {
    if (!file_) throw Error(path_ + ": cannot be read, or is no plain file");
  }

  Record Read() {
    if (!Next()) throw Error(path_ + ": empty; a record begins with its header");
    RowReader header(line_, place_);
    RecordFields(header, record_);
    Arrange(record_, header);
    while (Next()) {
      RowReader line(line_, place_);
      if (record_.batch) {
        TakeTaskLine(line);
      } else {
        TakeStepLine(line);
      }
    }
    return std::move(record_);
  }

 private:
  bool Next() {
    std::string text;
    if (!std::getline(file_, text)) return false;
    place_ = path_ + ":" + std::to_string(++number_);
    line_ = ParseJson(text, place_);
    RowReader(line_, place_).Require(line_.is_object(), "no JSON object");
    return true;
  }

  void TakeStepLine(RowReader& line) {
    const auto works = std::ssize(record_.works);
    if (!line.Has("policy")) {
      int64_t number = 0;
      line.Field("work", number, {works, works});
      RecordFields(line, record_.works.emplace_back(), std::ssize(record_.layers) - 1);
      return;
    }
    StepLine step;
    RecordFields(line, step);
    const auto [entry, first] =
        position_of_.try_emplace({step.policy, step.seed}, record_.trainings.size());
    if (first) record_.trainings.push_back({.policy = step.policy, .seed = step.seed});
    std::vector<size_t>& steps = record_.trainings[entry->second].works;
    const auto next = std::ssize(steps);
    line.Field("step", step.step, {next, next});
    line.Require(works > 0, "a step before any work");
    line.Field("work", step.work, {0, works - 1});
    steps.push_back(static_cast<size_t>(step.work));
  }

  void TakeTaskLine(RowReader& line) {
    if (line.Has("policy")) {
      RecordedTraining training;
      RecordFields(line, training);
      const bool fresh =
          position_of_.try_emplace({training.policy, training.seed}, record_.trainings.size())
              .second;
      line.Require(fresh, "method " + training.policy + ", seed " + std::to_string(training.seed) +
                              " begins twice");
      record_.trainings.push_back(std::move(training));
      return;
    }
    line.Require(!record_.trainings.empty(), "before any training, which begins with 'policy'");
    RecordedTraining& training = record_.trainings.back();
    if (line.Has("version")) {
      VersionWork work;
      RecordFields(line, work);
      line.Require(training.versions.emplace(work.version, work).second,
                   "version " + std::to_string(work.version) + " is there already");
      return;
    }
    RecordedTask task;
    RecordFields(line, task);
    line.Require(training.tasks.emplace(std::pair(task.key, task.client), task).second,
                 "task " + std::to_string(task.key) + " of client " + std::to_string(task.client) +
                     " is there already");
  }

  const std::string path_;
  std::ifstream file_;
  int64_t number_ = 0;  // of the line
  std::string place_;
  json line_;
  Record record_;
  std::map<std::pair<std::string, uint64_t>, size_t> position_of_;  // of trainings
};

}  // namespace

std::string RecordHeader::Hash() const { return TrainingHash(training); }

const RecordedTraining& Record::Training(const std::string& policy, uint64_t seed) const {
  const auto found = std::ranges::find_if(trainings, [&](const RecordedTraining& training) {
    return training.policy == policy && training.seed == seed;
  });
  if (found == trainings.end()) {
    throw Error("the record has no training of " + policy + ", seed " + std::to_string(seed));
  }
  return *found;
}

Record ReadRecord(const std::filesystem::path& path) { return RecordReader(path).Read(); }

Recorder::Recorder(const std::filesystem::path& path, const RecordHeader& header) : file_(path) {
  WriteLine(RowWriter::Line(header));
}

Recorder::Recorder(const std::filesystem::path& path) : file_(path, OutputFile::Mode::kAppend) {
  for (const StepWork& work : ReadRecord(path).works) {
    known_.emplace(ToJson(work).dump(), std::ssize(known_));
  }
}

void Recorder::Write(const std::string& policy, uint64_t seed, const StepWork& work) {
  json content = ToJson(work);
  const auto [entry, fresh] = known_.emplace(content.dump(), std::ssize(known_));
  if (fresh) {
    content["work"] = entry->second;
    WriteLine(content);
  }
  WriteLine(RowWriter::Line(StepLine{policy, seed, work.step, entry->second}));
}

void Recorder::Begin(const std::string& policy, uint64_t seed, const LocalStepWork& work) {
  WriteLine(RowWriter::Line(
      RecordedTraining{.policy = policy, .seed = seed, .works = {}, .local = work}));
}

void Recorder::Write(const VersionWork& work) { WriteLine(RowWriter::Line(work)); }

void Recorder::Write(const RecordedTask& task) { WriteLine(RowWriter::Line(task)); }

json ToJson(const StepWork& work) { return RowWriter::Line(work, int64_t{0}); }

std::string TrainingHash(const json& training) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : training.dump()) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace legacy
