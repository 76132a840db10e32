// A scenario has everything that a run depends on, in one typed struct, validated once. Defaults
// are written here only. Keys of the YAML file, of --set and of the command line go
// through one table (scenario_options.cc), which parses what stands for a value: rates, times,
// sizes and choices (values.h). Text is left where it names files, or is read together with other
// options.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parse.h"
#include "compress/message.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/options/fabric_options.h"
#include "scenarios/options/federated_options.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/options/step_count.h"
#include "scenarios/options/target.h"
#include "scenarios/options/values.h"
#include "trainer/clock/bucket_plan.h"
#include "trainer/clock/compute_options.h"
#include "trainer/clock/sharding.h"
#include "trainer/data/task_catalog.h"
#include "trainer/device_request.h"
#include "trainer/loss.h"
#include "trainer/optimizer.h"
#include "trainer/processor.h"
#include "trainer/schedule.h"

namespace legacy {

// A Method is one entry of the comparison: a scheme, its scope, and the policy that chooses its
// parameter.
struct Method {
  std::string name;             // unique name of rows, curves and CSV columns
  std::string scheme = "topk";  // "topk", "topk:index=u32+rbf:bits=8", ...: compress/exchange.h
  Parsed<ParseScope> scope = "layer";
  std::string policy = "uniform";  // "legacy-layer", "gravac:eps=0.9", ...: compress/policy.h
  // The scheme's parameter; 0: the scenario's density, or the scheme's default.
  double parameter = 0;
  // legacy-*: "10%,0.5%/1%,0.05%"; "": the scenario's, else solved.
  std::string legacy_schedule = {};
  bool reversed = false;  // a control: tight phases first; legacy-layer: small layers tight
  // Says how many bytes this method sends: those of a scheme with its parameter, "fft@0.85", or so
  // many bits for each value, "4bit".
  std::string bytes_of = {};
  int64_t local_steps = 1;  // steps between exchanges
  // Optimizer of the weights that workers with models of their own agree on; "": none.
  Parsed<ParseOuter> outer = "";
  // The codec with which workers gather sharded weights, "int:bits=8", "delta:int:bits=4"
  // (trainer/weight_codec.h); "": they gather the weights themselves.
  std::string weights = {};
  // A method of federated learning may have its own algorithm and downlink; "": it takes the run's.
  std::string algorithm = {};
  std::string downlink = {};

  // True where workers train models of their own.
  bool Local() const { return local_steps > 1 || outer->has_value(); }
  // Returns bytes_of in words: "as many bytes as fft@0.85", "4 bits a value".
  std::string BytesText() const;
};

// Returns the bits for each value that a text such as "4bit" asks for; nothing for texts of another
// form. Throws Error naming `key` if they are out of range.
std::optional<double> BitsOfValue(const std::string& text, const std::string& key = "bytes_of");

// A Scenario has every option of a run.
struct Scenario : FabricOptions {
  // Preset that was applied first (presets.h), for texts; "": none.
  std::string preset;

  // Options of federated learning. Nothing: the scenario is one of workers, each of which takes
  // part in each step.
  std::optional<FederatedSection> federated;

  // training
  std::string dataset = "glyphs";
  std::string data_root;
  int64_t train_limit = 0;  // number of samples; 0: all
  int64_t test_limit = 0;
  int64_t window = 0;           // tokens of a window of text; 0: as the task has it
  int evaluation_columns = 10;  // stretches of text that are evaluated side by side
  Parsed<ParseTextPart> evaluate_on = "test";
  int negatives = 4;         // drawn items that each pair of a recommendation comes with
  bool strict_data = false;  // true: the first broken image ends the run
  Parsed<ParseAugment> augment = "auto";
  bool normalise = true;  // false: inputs of images are pixels / 255
  std::string model = "small-cnn";
  Parsed<ParseInit> init = "model";  // how weights start
  int workers = 16;
  int batch = 16;          // samples per worker and pass
  int64_t accumulate = 1;  // passes of a step
  StepCount steps = 300;
  double learning_rate = 0.1;
  bool scale_learning_rate = false;  // times the number of workers
  Parsed<ParseOptimizer> optimizer = "sgd";
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_vectors = true;  // false: weight decay leaves out biases and scales
  double label_smoothing = 0;
  Parsed<ParseLossReduction> loss = "mean";
  double clip_worker = 0;  // norms of gradients; 0: no clipping
  double clip_mean = 0;
  Parsed<ParsePrecision> precision = "fp32";  // of weights in passes, and of gradients
  Parsed<ParseReduce> reduce = "fp32";        // format of dense gradients on the network
  Parsed<ParseSum> sum = "exact";             // arithmetic of their sums, in 16 bits
  int64_t local_steps = 0;                    // of the methods that have local steps; 0: their own
  Parsed<ParseOuter> outer = "";  // of the methods that have an outer optimizer; "": their own
  StepCount warmup_steps = 30;
  double warmup_from = 0;  // learning rate from which it warms up
  Parsed<ParseDecay> schedule = "linear";
  std::vector<StepCount> decay_steps;  // steps of schedule step
  double decay_factor = 0.1;
  double final_learning_rate = 0;  // of schedules linear, cosine and one-cycle
  StepCount evaluate_every = 15;
  Parsed<ParseTargetChoice> target = "auto";      // value of a metric that times are reported to
  Parsed<ParseDeviceRequest> device = "cpu";      // what trains and compresses
  Parsed<ParseProcessor> processor = "portable";  // kernels of the host
  // Shape of a model that is not trained (shapes/); "": `model` is trained.
  std::string layers;
  // Shape whose bytes and times the trained model's steps have; "": its own.
  std::string times_of;
  // Distribution of drawn gradients for a shape, where message lengths depend on the data.
  std::string gradients = "laplace";
  // Number of steps with drawn gradients after a change of a shape's parameter.
  int64_t drawn_steps = 3;

  // compression
  std::vector<std::string> policies = {"dense",        "fp16",         "topk",       "topk-global",
                                       "legacy-layer", "legacy-phase", "legacy-both"};
  double density = 0.01;  // average over layers and steps, as a fraction
  LegacyTable legacy;     // of LEGACY's policies; without a schedule: solved from the density
  bool error_feedback = true;
  bool rescale_residuals = true;
  Parsed<ParseIndexCoding> index = "auto";  // coding of positions; none: the shortest
  std::map<std::string, Method> methods;    // the user's own, by name

  // network, besides its fabric
  Parsed<ParseNetworkSchedule> network_schedule = "none";  // rates and delays that change
  // Further networks on which the same trainings are timed: none, auto, or NAME:KEY=VALUE,...;...
  // (further_networks.h).
  std::string further = "none";
  std::string stragglers = "fixed:count=2,factor=1.5";
  Parsed<ParseSync> sync = "barrier";  // whose gradients a step waits for
  ParsedFidelity fidelity = "packet";
  Parsed<ParseTransfer> aggregation = "collective";
  Parsed<ParseAllReduce> allreduce = "ring-allreduce";  // algorithm of linear messages
  Parsed<ParseAllGather> allgather = "ring-allgather";  // algorithm of other messages
  Parsed<ParsePull> pull = "union";                     // what is pulled from a server
  bool memoise = true;
  // ns-3 attributes, "ns3::TcpSocket::SegmentSize" -> "1000".
  std::map<std::string, std::string> ns3;
  std::string doctor = "off";  // off | on (the step of the median time) | steps, "0,10-12"
  Parsed<ParseEngineFidelity> doctor_fidelity = "flow";
  std::string trace_steps;            // "0,10-12"; "": no trace
  std::string trace_workers = "0-3";  // endpoints of the network
  std::string pcap;                   // prefix of ns-3's own files at packet fidelity; "": none
  std::string flow_monitor;
  std::string netanim;

  // clock
  std::string device_profile = "a100-datasheet";
  double device_speed = 1;  // speed of forward, backward and optimizer, times the profile's
  double codec_speed = 1;   // speed of encoding and decoding, times the profile's
  double contention = 0;    // part by which a running collective slows computing
  Parsed<ParseKernelEra> kernels = "2024";
  Parsed<ParseRecompute> recompute = "none";
  Parsed<ParseLayout> layout = "channels-last";
  Parsed<ParseSharding> sharding = "none";    // who holds weights, gradients, optimizer states
  Parsed<ParseShardingRules> rules = "auto";  // order of gathers and reductions
  Parsed<ParseShardUnits> units = "auto";     // what is gathered together
  Parsed<ParseReshard> reshard = "on";
  int prefetch = 1;  // units that are gathered ahead
  Parsed<ParseCollectiveTimes> collective_times = "auto";
  Parsed<ParseParallel> parallel = "none";           // how a shape is divided besides sharding
  Parsed<ParseExpertLoad> experts = "balanced";      // which experts tokens go to
  Parsed<ParseStageOrder> pipeline = "1f1b";         // of pipeline stages
  Parsed<ParseLaunchesOption> launches = "profile";  // none: as the profile says
  Size bucket = "25MiB";                             // size in dense fp32 gradient

  // run
  uint64_t seed = 1;
  int seeds = 1;    // number of seeds: seed, seed + 1, ..., which all policies share
  int threads = 0;  // number of workers trained at the same time; 0: one per core
  // Processes that this program starts on its machine; 0: those of a launcher, or one.
  int processes = 0;
  std::string master;  // HOST or HOST:PORT of process 0; "": what the launcher says
  bool record = false;
  Parsed<ParseMemoryLimit> memory = "90%";  // that trainings may take
  int jobs = 1;  // number of trainings at the same time, in processes of their own
  Parsed<ParsePeriod> checkpoint = "10min";  // wall time between two checkpoints; none: off
  // Steps whose gradients are written: "0,100"; "": none.
  std::string gradient_steps;
  std::string gradient_layers = "all";  // names, or parts of names
  std::string out;                      // run directory; "": runs/<program>-<time>
  bool overwrite = false;
  bool pictures = true;
  bool verbose = false;      // tables with what the network's engine did
  bool tensorboard = false;  // event files in the run directory
};

// Returns the number of parameter servers that aggregate gradients; 0: collectives do.
int AggregatingServers(const Scenario& scenario);

using ScenarioOption = Option<Scenario>;

// Return the table of options of scenarios of workers, that of federated ones, and the one that a
// scenario has. The second has the options of the first that federated learning reads.
const std::vector<ScenarioOption>& ScenarioOptions();
const std::vector<ScenarioOption>& FederatedScenarioOptions();
const std::vector<ScenarioOption>& OptionsOf(const Scenario& scenario);

// Sets one key from text. Throws Error naming the key, the value and what is allowed; for an
// unknown key, with the nearest ones.
void SetOption(Scenario& scenario, const std::string& key, const std::string& text);

// Reads a YAML file over `scenario`, after the files that its key "include" names. Throws Error
// "file:line:column: key: ...".
void LoadScenario(const std::string& path, Scenario& scenario);
// Reads the text of such a file, which messages call `name`, in the same way.
void LoadScenarioText(const std::string& text, const std::string& name, Scenario& scenario);

// Checks what depends on more than one key: names of models and data sets, and sizes that must fit
// together. Throws Error. The target is checked against the metrics that there are: TargetOf,
// TargetAmong.
void ValidateScenario(const Scenario& scenario);

// Checks the scenario of a point of a study in the same way. Options that its first policy does not
// read are left out, because a study sets them for others of its policies.
void ValidatePoint(const Scenario& scenario);

// Scenario::batch has this value until the batch of the shape (training.layers) is taken.
inline constexpr int kUsualBatch = 0;

// Returns the scenario from which options of a shape's run (training.layers) start: one seed, the
// shape's batch, no stragglers, and large messages as flows over one network.
Scenario ShapeDefaults();
// Sets the batch of the scenario's shape where it has kUsualBatch. Throws Error on what is not a
// shape.
void TakeUsualBatch(Scenario& scenario);

// Return texts for people: "small-cnn", "shape resnet50" or "small-cnn, timed as resnet50"; and
// "batch 8 a worker".
std::string ModelText(const Scenario& scenario);
std::string BatchText(const Scenario& scenario);
// Returns the batch that a step computes: that of the shape as which it is timed, if it is.
int TimedBatch(const Scenario& scenario);
// Returns what the scenario says of how devices compute.
ComputeOptions ComputeOptionsOf(const Scenario& scenario);
ShardingOptions ShardingOptionsOf(const Scenario& scenario);
// Returns how many workers train with data of their own: all, but those that divide a model. Throws
// Error where the workers are no multiple of these.
int DataWorkers(const Scenario& scenario);
// Returns what is assumed where steps are timed as a shape's (training.times_of).
std::string TimesOfText(const Scenario& scenario);

// Returns the scenario from which options of federated learning start.
Scenario FederatedDefaults();

// Returns the scenario from which options of a training on such data start: `defaults`, and for
// text and ratings with a small model and an optimizer that fit them.
Scenario TaskDefaults(const Scenario& defaults, TaskKind task);

// Returns `defaults` after `lay_over`. Where `lay_over` names a shape, it starts from
// ShapeDefaults(), and from TaskDefaults() where it names a data set of text or ratings.
Scenario OverDefaults(const Scenario& defaults, const std::function<void(Scenario&)>& lay_over);

// Returns YAML that LoadScenario reads back to the same scenario.
std::string PrintScenario(const Scenario& scenario);

// Returns the method of that name: the user's own first, then the built-in ones. Throws Error with
// the list.
Method FindMethod(const Scenario& scenario, const std::string& name);
std::vector<std::string> BuiltInMethods();

}  // namespace legacy
