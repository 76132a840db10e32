#include "scenarios/federated/task_record.h"

#include "ns3-module/fabric/tasks/server.h"

namespace legacy {
namespace {

using nlohmann::json;

constexpr int64_t kFormat = 1;
constexpr int64_t kMostSteps = int64_t{1} << 40;

class TaskReader : RecordLines {
 public:
  explicit TaskReader(const std::filesystem::path& path) : RecordLines(path) {}

  FederatedRecord Read() {
    json line;
    Require(Next(line), "empty; a record begins with its header");
    static_cast<RecordHeader&>(record_) =
        ReadHeader(line, kFormat, "it is of a run of legacy-scenario, or of a later version");
    record_.batch = WholeAt(line, "batch", 1, 1 << 20);
    while (Next(line)) {
      if (line.contains("policy")) {
        ReadTraining(line);
        continue;
      }
      Require(!record_.trainings.empty(), "before any training, which begins with 'policy'");
      if (line.contains("version")) {
        ReadVersion(line);
      } else {
        ReadTask(line);
      }
    }
    return std::move(record_);
  }

 private:
  void ReadTraining(const json& line) {
    RecordedFederation training;
    training.policy = TextAt(line, "policy");
    training.seed = static_cast<uint64_t>(WholeAt(line, "seed", 0, INT64_MAX));
    for (const RecordedFederation& other : record_.trainings) {
      Require(other.policy != training.policy || other.seed != training.seed,
              "method " + training.policy + ", seed " + std::to_string(training.seed) +
                  " begins twice");
    }
    for (const json& kernel : List(line, "update")) {
      if (!kernel.is_string()) Fail("update", kernel, "texts");
      training.work.update_kernels.push_back(kernel.get<std::string>());
    }
    training.work.corrections = ReadWork(List(line, "corrections"));
    record_.trainings.push_back(std::move(training));
  }

  void ReadVersion(const json& line) {
    VersionWork work;
    work.version = WholeAt(line, "version", 0, INT64_MAX);
    work.down_bytes = WholeAt(line, "down", 0, kMostRecorded);
    const bool known = line.contains("up");
    (known ? work.up_bytes : work.expected_up) =
        WholeAt(line, known ? "up" : "expected", 0, kMostRecorded);
    if (!known) work.up_bytes = fabric::kUnknownBytes;
    work.encode = ReadWork(List(line, "encode"));
    if (line.contains("decode")) work.decode = ReadWork(List(line, "decode"));
    if (line.contains("whole")) {
      work.delta = {.whole = WholeAt(line, "whole", 0, kMostRecorded),
                    .sent = WholeAt(line, "sent", 0, kMostRecorded)};
      Require(work.delta->whole <= work.down_bytes, "'whole' is more than 'down', of which it is");
    }
    const int64_t version = work.version;
    Require(record_.trainings.back().versions.emplace(version, std::move(work)).second,
            "version " + std::to_string(version) + " is there already");
  }

  void ReadTask(const json& line) {
    RecordedTask task;
    task.key = static_cast<uint64_t>(WholeAt(line, "task", 0, INT64_MAX));
    task.client = WholeAt(line, "client", 0, INT32_MAX);
    task.local_steps = WholeAt(line, "steps", 0, kMostSteps);
    if (line.contains("up")) task.up_bytes = WholeAt(line, "up", 0, kMostRecorded);
    task.loss = NumberOf(line, "loss");
    task.squares = NumberOf(line, "squares");
    Require(record_.trainings.back().tasks.emplace(std::pair(task.key, task.client), task).second,
            "task " + std::to_string(task.key) + " of client " + std::to_string(task.client) +
                " is there already");
  }

  // Returns a number, or nothing where it is not there.
  std::optional<double> NumberOf(const json& line, const char* name) const {
    if (!line.contains(name)) return std::nullopt;
    const json& number = line.at(name);
    if (!number.is_number()) Fail(name, number, "a number");
    return number.get<double>();
  }

  FederatedRecord record_;
};

}  // namespace

DownlinkNeed VersionWork::DownOf(int64_t client, const DownlinkLedger& ledger) const {
  if (!delta) return {.bytes = down_bytes, .messages = decode.empty() ? 0 : 1};
  DownlinkNeed need = ledger.NeedOf(client, version, *delta);
  need.bytes += down_bytes - delta->whole;
  return need;
}

TaskRecorder::TaskRecorder(const std::filesystem::path& path, const json& training,
                           std::span<const OperationCost> operations, std::span<const Unit> layers,
                           int64_t batch)
    : file_(path) {
  json header = HeaderJson(kFormat, training, {}, operations, layers);
  header["batch"] = batch;
  WriteLine(header);
}

void TaskRecorder::Begin(const std::string& policy, uint64_t seed, const LocalStepWork& work) {
  WriteLine({{"policy", policy},
             {"seed", seed},
             {"update", work.update_kernels},
             {"corrections", WorkJson(work.corrections)}});
}

void TaskRecorder::Write(const VersionWork& work) {
  json line = {
      {"version", work.version}, {"down", work.down_bytes}, {"encode", WorkJson(work.encode)}};
  const bool known = work.up_bytes != fabric::kUnknownBytes;
  line[known ? "up" : "expected"] = work.AboutUp();
  if (!work.decode.empty()) line["decode"] = WorkJson(work.decode);
  if (work.delta) {
    line["whole"] = work.delta->whole;
    line["sent"] = work.delta->sent;
  }
  WriteLine(line);
}

void TaskRecorder::Write(const RecordedTask& task) {
  json line = {{"task", task.key}, {"client", task.client}, {"steps", task.local_steps}};
  if (task.up_bytes) line["up"] = *task.up_bytes;
  if (task.loss) line["loss"] = *task.loss;
  if (task.squares) line["squares"] = *task.squares;
  WriteLine(line);
}

FederatedRecord ReadTaskRecord(const std::filesystem::path& path) {
  return TaskReader(path).Read();
}

}  // namespace legacy
