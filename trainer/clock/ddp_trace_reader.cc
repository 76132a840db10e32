// Parser of trace files: the meaning of each keyword, and where it may occur.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/files/whole_file.h"
#include "base/number.h"
#include "trainer/clock/ddp_trace.h"
#include "trainer/clock/ddp_trace_layers.h"
#include "trainer/clock/ddp_trace_lines.h"

namespace legacy {
namespace {

// Largest number of steps of a training, which are the rows of its steps.csv.
constexpr int64_t kMostSteps = 10'000'000;
constexpr size_t kMostBytesOfFile = size_t{1} << 34;
// Largest number of messages of a step; a short line may stand for many.
constexpr int64_t kMostMessages = int64_t{1} << 24;
// Largest number of seconds; sums of nanoseconds stay far below 2^63.
constexpr double kMostSeconds = 86400;
constexpr const char* kFirstLine = "legacy-trace 1";
constexpr double kLargestValue = 1e12;  // of a metric that is not a fraction
// Largest number of metrics, because each step with an evaluation has a value of each.
constexpr size_t kMostMetrics = 64;
// The metric of the keyword "accuracy", which needs no declaration.
const Metric kAccuracy = {"accuracy", "accuracy", Metric::Better::kHigher, true};

class DdpReader : DdpTraceLines {
 public:
  explicit DdpReader(const std::filesystem::path& path)
      : DdpTraceLines(path.string(), ReadWholeFile(path, kMostBytesOfFile)) {}

  DdpTrace Read() {
    ReadFirstLine();
    while (NextLine()) {
      const auto entry = kKeywords.find(Keyword().text);
      if (entry == kKeywords.end()) Unknown("keyword");
      (this->*entry->second)();
    }
    FinishTraining(EndOfLine());
    if (trace_.trainings.empty()) Fail(EndOfLine(), "end of file", "a step");
    // A step may come before the first "accuracy".
    for (TraceTraining& training : trace_.trainings) {
      for (TraceStep& step : training.steps) {
        if (!step.metrics.empty()) step.metrics.resize(trace_.metrics.size(), NAN);
      }
    }
    return std::move(trace_);
  }

 private:
  using Handler = void (DdpReader::*)();
  static const std::map<std::string_view, Handler> kKeywords;

  [[noreturn]] void Unknown(const char* what) const {
    std::string allowed;
    for (const auto& [name, handler] : kKeywords) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    Fail(Keyword(), what, allowed);
  }

  // Reads the values from number `first` on: one, or one for each worker.
  template <typename Read>
  auto Each(size_t first, Read read) const {
    const size_t count = Values() - std::min(first, Values());
    const auto workers = static_cast<size_t>(trace_.workers);
    if (count != 1 && count != workers) {
      Fail(count == 0 || count < workers ? EndOfLine() : Value(first + workers),
           std::to_string(count) + " values",
           "one, or one for each of the " + std::to_string(workers) + " workers");
    }
    std::vector<decltype(read(Keyword()))> values;
    for (size_t i = first; i < Values(); ++i) values.push_back(read(Value(i)));
    return PerWorker(std::move(values));
  }
  PerWorker<double> Seconds() const {
    return Each(0,
                [&](const PlacedWord& word) { return Number(word, "seconds", 0, kMostSeconds); });
  }

  void ReadFirstLine() {
    if (!NextLine()) Fail(EndOfLine(), "first line", kFirstLine);
    if (Keyword().text != "legacy-trace") Fail(Keyword(), "first line", kFirstLine);
    RequireValues(1, 1, kFirstLine);
    if (Value(0).text != "1") Fail(Value(0), "version", "1");
  }

  void ReadVersion() { Require(false, "legacy-trace in the first line alone"); }

  void ReadWorkers() {
    Require(trace_.workers == 0, "workers once, before the first step");
    RequireValues(1, 1, "workers N");
    trace_.workers = static_cast<int>(Whole(Value(0), "workers", 1, kMostRecordedWorkers));
  }

  void ReadLayer() {
    Require(!open_ && trace_.trainings.empty(), "layers before the first method and step");
    trace_.layers.push_back(layers_.Read(*this));
  }

  void ReadMethod() {
    RequireValues(1, 1, "method NAME");
    FinishTraining(Keyword());
    const std::string name(Value(0).text);
    const auto same = [&](const TraceTraining& training) { return training.method == name; };
    if (std::ranges::any_of(trace_.trainings, same)) {
      Fail(Value(0), "method", "each name once");
    }
    open_ = TraceTraining{name, {}};
  }

  void ReadStep() {
    Require(trace_.workers > 0 && !trace_.layers.empty(), "workers and layers before steps");
    RequireValues(0, 1, "step [COUNT]");
    FinishStep(Keyword());
    if (!open_) open_ = TraceTraining{kUnnamedMethod, {}};
    TraceStep& step = open_->steps.emplace_back();
    if (Values() == 1) step.count = Whole(Value(0), "steps", 1, kMostSteps);
    if (steps_ += step.count; steps_ > kMostSteps) {
      Fail(Keyword(), "steps of a training", "at most " + std::to_string(kMostSteps));
    }
    messages_ = 0;
    has_compute_ = false;
    in_step_ = true;
  }

  TraceStep& Step() {
    Require(in_step_, "workers, layer, method or step, as no step has begun");
    return open_->steps.back();
  }

  void ReadCompute() {
    TraceStep& step = Step();
    Require(!has_compute_ && step.buckets.empty(), "compute once, before the step's buckets");
    step.compute = Seconds();
    has_compute_ = true;
  }

  void ReadRate() { ReadOnce(Step().learning_rate, "rate NUMBER", &DdpReader::Loss); }
  void ReadLoss() { ReadOnce(Step().loss, "loss NUMBER", &DdpReader::Loss); }

  void ReadOnce(std::optional<double>& value, const char* usage,
                double (DdpReader::*read)(const PlacedWord&, const char*) const) {
    Require(!value, "each once in a step");
    RequireValues(1, 1, usage);
    value = (this->*read)(Value(0), "number");
  }

  void ReadAccuracy() {
    Step();
    RequireValues(1, 2, "accuracy FRACTION [TEST-LOSS]");
    if (std::ranges::find(trace_.metrics, kAccuracy.name, &Metric::name) == trace_.metrics.end()) {
      trace_.metrics.push_back(kAccuracy);
    }
    ReadValue(kAccuracy.name, 0);
  }

  void ReadMetric() {
    if (!open_ && trace_.trainings.empty()) {
      DeclareMetric();
      return;
    }
    Step();
    RequireValues(2, 3, "metric NAME VALUE [TEST-LOSS]");
    const std::string name(Value(0).text);
    if (std::ranges::find(trace_.metrics, name, &Metric::name) == trace_.metrics.end()) {
      Fail(Value(0), "metric",
           "a metric of a line 'metric NAME higher|lower [fraction]' before the first method "
           "and step");
    }
    ReadValue(name, 1);
  }

  void DeclareMetric() {
    RequireValues(2, 3, "metric NAME higher|lower [fraction]");
    if (trace_.metrics.size() == kMostMetrics) {
      Fail(Keyword(), "metrics", "at most " + std::to_string(kMostMetrics));
    }
    Metric metric;
    metric.name = Value(0).text;
    if (!IsMetricName(metric.name)) {
      Fail(Value(0), "metric", "small letters, digits and _, the first a letter");
    }
    if (std::ranges::find(trace_.metrics, metric.name, &Metric::name) != trace_.metrics.end()) {
      Fail(Value(0), "metric", "each name once");
    }
    metric.title = metric.name;
    std::ranges::replace(metric.title, '_', ' ');
    const bool lower = Value(1).text == "lower";
    if (!lower && Value(1).text != "higher") Fail(Value(1), "direction", "higher, lower");
    metric.better = lower ? Metric::Better::kLower : Metric::Better::kHigher;
    metric.fraction = Values() == 3;
    if (metric.fraction && Value(2).text != "fraction") Fail(Value(2), "unit", "fraction");
    if (metric.name == kAccuracy.name && metric != kAccuracy) {
      Fail(Keyword(), "accuracy", "metric accuracy higher fraction");
    }
    trace_.metrics.push_back(std::move(metric));
  }

  // Reads the step's value of a metric, and the test loss if it follows.
  void ReadValue(const std::string& name, size_t word) {
    TraceStep& step = Step();
    const size_t position = MetricPosition(trace_.metrics, name);
    const Metric& metric = trace_.metrics[position];
    step.metrics.resize(trace_.metrics.size(), NAN);
    Require(std::isnan(step.metrics[position]), "each once in a step");
    step.metrics[position] = metric.fraction ? Number(Value(word), name.c_str(), 0, 1)
                                             : Number(Value(word), name.c_str(), 0, kLargestValue);
    if (Values() == word + 1) return;
    if (step.test_loss) Fail(Value(word + 1), "test loss", "one in a step");
    step.test_loss = Loss(Value(word + 1), "test loss");
  }

  void ReadBucket() {
    TraceStep& step = Step();
    Require(has_compute_, "compute before the step's buckets");
    RequireValues(1, SIZE_MAX, "bucket LAYER... or FIRST..LAST");
    FinishBucket(Keyword());
    TraceBucket& bucket = step.buckets.emplace_back();
    for (size_t i = 0; i < Values(); ++i) {
      const auto [first, last] = bucket.layers.emplace_back(layers_.Range(*this, Value(i)));
      bucket.elements += layers_.Elements(std::min(first, last), std::max(first, last));
      Take(std::min(first, last), std::max(first, last), Value(i));
    }
    has_ready_ = false;
  }

  // Records that layers [first, last] are sent, each once in a step. `taken_` maps the first layer
  // of each range so far to its last.
  void Take(int first, int last, const PlacedWord& word) {
    const auto after = taken_.lower_bound(first);
    const bool free = (after == taken_.end() || after->first > last) &&
                      (after == taken_.begin() || std::prev(after)->second < first);
    if (!free) Fail(word, "layer", "each layer in one bucket of a step");
    taken_[first] = last;
  }

  TraceBucket& Bucket() {
    TraceStep& step = Step();
    Require(!step.buckets.empty(), "a bucket before what it does");
    return step.buckets.back();
  }

  void ReadReady() {
    TraceBucket& bucket = Bucket();
    Require(!has_ready_, "ready once, first in a bucket");
    bucket.ready = Seconds();
    has_ready_ = true;
    const TraceStep& step = open_->steps.back();
    const PerWorker<double>* before =
        step.buckets.size() > 1 ? &step.buckets[step.buckets.size() - 2].ready : nullptr;
    const bool each = bucket.ready.Differs() || step.compute.Differs() ||
                      (before != nullptr && before->Differs());
    for (int w = 0; w < (each ? trace_.workers : 1); ++w) {
      const double ready = bucket.ready.Of(w);
      const PlacedWord& word = Value(bucket.ready.Differs() ? static_cast<size_t>(w) : 0);
      const std::string at = " of worker " + std::to_string(w);
      if (ready > step.compute.Of(w)) {
        Fail(word, "ready" + at, "at most " + FormatNumber(step.compute.Of(w)) + ", its compute");
      }
      if (before != nullptr && ready < before->Of(w)) {
        Fail(word, "ready" + at,
             "at least " + FormatNumber(before->Of(w)) + ", as the bucket before");
      }
    }
  }

  void ReadSent() {
    TraceBucket& bucket = Bucket();
    Require(has_ready_ && !bucket.sent, "elements once in a bucket, after ready");
    RequireValues(1, 1, "elements N");
    bucket.sent = Whole(Value(0), "elements", 0, kMostLayerBytes);
  }

  void ReadEncode() {
    Bucket();
    Require(has_ready_ && !encode_, "encode once before its send, after ready");
    encode_ = Seconds();
  }

  void ReadSend() {
    TraceBucket& bucket = Bucket();
    Require(has_ready_, "ready before send");
    RequireValues(2, SIZE_MAX, "send all-reduce|all-gather|broadcast BYTES...");
    if ((messages_ += trace_.workers) > kMostMessages) {
      Fail(Keyword(), "messages of a step", "at most " + std::to_string(kMostMessages));
    }
    TraceCall call;
    call.collective = Way(Value(0));
    call.bytes =
        Each(1, [&](const PlacedWord& word) { return Whole(word, "bytes", 0, kMostLayerBytes); });
    if (call.collective == Collective::kAllReduce) CheckEqual(call);
    if (call.collective == Collective::kBroadcast) call.root = Root(call);
    if (encode_) call.encode = *std::exchange(encode_, std::nullopt);
    bucket.calls.push_back(std::move(call));
    may_decode_ = true;
  }

  Collective Way(const PlacedWord& word) const {
    if (word.text == "all-reduce") return Collective::kAllReduce;
    if (word.text == "all-gather") return Collective::kAllGather;
    if (word.text == "broadcast") return Collective::kBroadcast;
    Fail(word, "collective", "all-reduce, all-gather, broadcast");
  }

  void CheckEqual(const TraceCall& call) const {
    for (size_t i = 2; i < Values(); ++i) {
      if (call.bytes.Of(static_cast<int>(i) - 1) == call.bytes.Of(0)) continue;
      Fail(Value(i), "bytes",
           std::to_string(call.bytes.Of(0)) + ", as the first: sums have one length");
    }
  }

  // Returns the worker that sends: the only one with bytes, or worker 0 if one value stands for
  // all.
  int Root(const TraceCall& call) const {
    int root = -1;
    for (size_t i = 1; i < Values() && call.bytes.Differs(); ++i) {
      if (call.bytes.Of(static_cast<int>(i) - 1) == 0) continue;
      if (root >= 0) Fail(Value(i), "bytes", "0, as one worker alone broadcasts");
      root = static_cast<int>(i) - 1;
    }
    return std::max(root, 0);
  }

  void ReadDecode() {
    TraceBucket& bucket = Bucket();
    Require(may_decode_ && !encode_, "decode once, after its send");
    bucket.calls.back().decode = Seconds();
    may_decode_ = false;
  }

  // Ends the bucket, if there is one. `word` is the one that follows it.
  void FinishBucket(const PlacedWord& word) {
    if (in_step_ && !open_->steps.back().buckets.empty()) {
      if (!has_ready_) Fail(word, "bucket's end", "ready, which every bucket has");
      if (encode_) Fail(word, "bucket's end", "send, after encode");
    }
    may_decode_ = false;
  }

  void FinishStep(const PlacedWord& word) {
    FinishBucket(word);
    if (in_step_ && !has_compute_) Fail(word, "step's end", "compute, which every step has");
    taken_.clear();
    in_step_ = false;
  }

  void FinishTraining(const PlacedWord& word) {
    FinishStep(word);
    if (!open_) return;
    if (open_->steps.empty()) Fail(word, "method's end", "a step, which every method has");
    trace_.trainings.push_back(std::move(*open_));
    open_.reset();
    steps_ = 0;
  }

  DdpTrace trace_;
  DdpTraceLayers layers_;

  std::optional<TraceTraining> open_;  // the training that the current lines describe
  int64_t steps_ = 0;                  // steps of `open_`
  bool in_step_ = false;
  bool has_compute_ = false;
  int64_t messages_ = 0;  // messages of the step
  std::map<int, int> taken_;
  bool has_ready_ = false;                   // true when the last bucket has a "ready" line
  bool may_decode_ = false;                  // true when the last call may have a "decode" line
  std::optional<PerWorker<double>> encode_;  // encoding of the next call
};

const std::map<std::string_view, DdpReader::Handler> DdpReader::kKeywords = {
    {"legacy-trace", &DdpReader::ReadVersion},
    {"workers", &DdpReader::ReadWorkers},
    {"layer", &DdpReader::ReadLayer},
    {"method", &DdpReader::ReadMethod},
    {"step", &DdpReader::ReadStep},
    {"compute", &DdpReader::ReadCompute},
    {"rate", &DdpReader::ReadRate},
    {"loss", &DdpReader::ReadLoss},
    {"accuracy", &DdpReader::ReadAccuracy},
    {"metric", &DdpReader::ReadMetric},
    {"bucket", &DdpReader::ReadBucket},
    {"ready", &DdpReader::ReadReady},
    {"elements", &DdpReader::ReadSent},
    {"encode", &DdpReader::ReadEncode},
    {"send", &DdpReader::ReadSend},
    {"decode", &DdpReader::ReadDecode}};

}  // namespace

DdpTrace ReadDdpTrace(const std::filesystem::path& path) { return DdpReader(path).Read(); }

}  // namespace legacy
