#include "compress/schemes/codec_scheme.h"

#include <array>
#include <cmath>

#include "base/error.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/hops/hop_sum.h"
#include "compress/schemes/served_slices.h"

namespace legacy {
namespace {

constexpr std::array<std::string_view, 5> kMemories = {"residual", "momentum", kEf21, kEf21Momentum,
                                                       "loco"};
constexpr std::array<std::string_view, 3> kStorages = {"fp32", "bf16", "int8"};
constexpr std::array<std::string_view, 3> kAgain = {"off", "gather", "dense"};
constexpr std::array<std::string_view, 5> kReductions = {"gather", "requantise", "hop", "ring",
                                                         "butterfly"};
constexpr std::array<std::string_view, 2> kFeedbacks = {"off", "first"};
constexpr int64_t kMostServers = 65536;
constexpr double kLargestMomentum = 0.999999;
constexpr double kLargestClip = 1e30;

void CheckRequantises(const Codec& codec, const std::string& reduction) {
  const auto* quantiser = dynamic_cast<const QuantiserCodec*>(&codec);
  Unit one;
  one.numel = 1;
  const auto length = codec.MessageBytes(one, codec.Parameter().fallback);
  if (quantiser != nullptr && quantiser->quantiser().Bucket() > 0 &&
      quantiser->quantiser().Parts() != nullptr && length) {
    return;
  }
  throw Error("reduction of " + std::string(codec.Name()), reduction,
              "gather; sums are requantised for quantisers that work in buckets, of a fixed width");
}

void CheckHops(const Codec& codec) {
  const auto* quantiser = dynamic_cast<const QuantiserCodec*>(&codec);
  if (quantiser != nullptr && quantiser->SumsByHops()) return;
  throw Error("reduction of " + std::string(codec.Name()), "hop",
              "gather; only fp16 and bf16 without a sparsifier are added on the way, and rounded");
}

}  // namespace

CodecScheme::CodecScheme(std::shared_ptr<const Codec> codec, const CodecSchemeOptions& options,
                         std::string name)
    : codec_(std::move(codec)),
      options_(options),
      name_(name.empty() ? std::string(codec_->Name()) : std::move(name)) {
  if (options_.summing == Summing::kRequantise || HopOrderOf(options_.summing)) {
    CheckRequantises(*codec_, std::string(kReductions[static_cast<size_t>(options_.summing)]));
  }
  if (options_.summing == Summing::kHops) CheckHops(*codec_);
}

std::shared_ptr<const Codec> CodecScheme::Of(const Unit& unit) const {
  if (std::unique_ptr<Codec> own = codec_->ForUnit(unit)) return own;
  return codec_;
}

int64_t CodecScheme::ElementsSent(const Unit& unit, double parameter) const {
  return Compresses(unit, parameter) ? Of(unit)->ElementsSent(unit.numel, parameter) : unit.numel;
}

std::optional<int64_t> CodecScheme::MessageBytes(const Unit& unit, double parameter) const {
  if (!Compresses(unit, parameter)) return DenseCodec().MessageBytes(unit, parameter);
  return Of(unit)->MessageBytes(unit, parameter);
}

std::optional<std::vector<PlannedCall>> CodecScheme::Plan(const Unit& unit, double parameter,
                                                          int active_workers) const {
  const std::optional<int64_t> bytes = MessageBytes(unit, parameter);
  if (!bytes) return std::nullopt;
  const auto codec = Of(unit);
  const CodecStep step = StepOf(*codec, unit, parameter, active_workers);
  return std::vector<PlannedCall>{{step.Messages(std::nullopt), *bytes}};
}

std::optional<std::vector<PlannedCall>> CodecScheme::ExpectedCalls(const Unit& unit,
                                                                   double parameter,
                                                                   int active_workers,
                                                                   const LinkEstimate& link) const {
  if (MessageBytes(unit, parameter)) {
    return Scheme::ExpectedCalls(unit, parameter, active_workers, link);
  }
  const auto codec = Of(unit);
  const CodecStep step = StepOf(*codec, unit, parameter, active_workers);
  const int64_t values = codec->ElementsSent(unit.numel, parameter);
  return std::vector<PlannedCall>{{step.Lengths(), int64_t{sizeof(uint32_t)}},
                                  {step.Messages(values * active_workers),
                                   kHeaderBytes + values * int64_t{2 * sizeof(uint32_t)}}};
}

CodecStep CodecScheme::StepOf(const Codec& codec, const Unit& unit, double parameter,
                              int active_workers) const {
  const bool whole = !Compresses(unit, parameter);
  CheckCodecStep(codec, parameter, !whole && options_.memory.kind != MemoryKind::kNone);
  return {.codec = whole ? DenseCodec() : codec,
          .unit = unit,
          .parameter = parameter,
          .active_workers = active_workers,
          .summing = whole ? Summing::kPlain : options_.summing,
          .slice = options_.slice,
          .workers = active_workers,
          .memory = MemoryOf(options_.memory, whole)};
}

bool CodecScheme::Compresses(const Unit& unit, double) const {
  return unit.numel >= options_.min_numel && (options_.vectors || unit.shape.size() > 1);
}

bool CodecScheme::Rounds() const {
  return codec_->Sparse() == nullptr && codec_->Linear(1, codec_->Parameter().fallback);
}

bool CodecScheme::UsesErrorFeedback(double parameter) const {
  const bool sends_own = !HopOrderOf(options_.summing) || options_.first_feedback;
  return !Rounds() && sends_own && codec_->AllowsErrorFeedback(parameter);
}

std::optional<double> CodecScheme::LocalClipNorm(int workers) const {
  if (options_.local_clip == 0) return std::nullopt;
  return options_.local_clip / std::sqrt(workers);
}

std::vector<double> CodecScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                               std::span<const double> parameters,
                                               const RandomKey& random) const {
  if (!Compresses(unit, 0)) return std::vector<double>(parameters.size(), 0.0);
  return Of(unit)->SquaredErrors(values, parameters,
                                 {.unit = unit.id, .parameter = 0, .random = random});
}

WorkList CodecScheme::ErrorWork(const Unit& unit, std::span<const double> parameters) const {
  return Compresses(unit, 0) ? Of(unit)->ErrorWork(unit.numel, parameters) : WorkList();
}

WorkList CodecScheme::SelectWork(int64_t numel, double parameter) const {
  const SparseCodec* sparse = codec_->Sparse();
  return sparse ? sparse->sparsifier().EncodeWork(numel, {.parameter = parameter, .random = {}})
                : WorkList();
}

std::unique_ptr<Exchange> CodecScheme::Open(const Unit& unit, int workers) const {
  return std::make_unique<CodecExchange>(
      CodecExchangeSetup{.scheme = name_,
                         .codec = Of(unit),
                         .memory = options_.memory,
                         .whole = !Compresses(unit, codec_->Parameter().fallback),
                         .summing = options_.summing,
                         .slice = options_.slice},
      unit, workers);
}

std::unique_ptr<Exchange> CodecScheme::OpenForOwner(const Unit& slice, int workers,
                                                    HopOwner owner) const {
  return std::make_unique<CodecExchange>(CodecExchangeSetup{.scheme = name_,
                                                            .codec = Of(slice),
                                                            .memory = options_.memory,
                                                            .summing = options_.summing,
                                                            .slice = options_.slice,
                                                            .owner = owner},
                                         slice, workers);
}

std::unique_ptr<Scheme> MakeCodecScheme(std::unique_ptr<Codec> codec,
                                        const CodecSchemeOptions& options, std::string name) {
  const std::shared_ptr<const Codec> shared = std::move(codec);
  auto scheme = std::make_unique<CodecScheme>(shared, options, name);
  if (options.where != Where::kWorker) {
    const auto mean = [&](std::unique_ptr<Scheme> own) {
      return CompressedMean(std::move(own), options.where, options.again);
    };
    std::unique_ptr<Scheme> units = mean(std::move(scheme));
    if (options.servers == 1) return units;
    CodecSchemeOptions slices = options;
    slices.min_numel = 0;
    slices.vectors = true;
    return ServedSlices({.units = std::move(units),
                         .compressed = mean(std::make_unique<CodecScheme>(shared, slices, name)),
                         .whole = mean(MakeScheme("dense", {.error_feedback = false}))},
                        options.servers);
  }
  if (options.ef21) return WithEf21(std::move(scheme), *options.ef21);
  return scheme;
}

std::span<const OptionSpec> CodecSchemeOptionSpecs() {
  static const std::vector<OptionSpec> specs = {
      {"min_numel", "0", "0 to 4294967295", "number of elements below which a unit is sent whole"},
      {"vectors", "on", "on, off", "compress one-dimensional units (vectors, buckets, models) too"},
      {"memory", "residual", "residual, momentum, ef21, ef21m, loco",
       "error feedback: add the residual to the next gradient, or to the momentum (momentum "
       "correction); or compress differences to what receivers know of the gradient, or of its "
       "momentum; loco: add a moving average of what was left over"},
      {"beta", "0.8", "0 to 0.999999", "part of the average that stays with memory=loco"},
      {"reset_every", "1024", "0 to 2^53", "steps after which that average begins again; 0: never"},
      {"storage", "fp32", "fp32, bf16, int8",
       "format of residuals between steps, with memory=residual and loco; int8: blocks of 256 "
       "values with a scale"},
      {"momentum", "0.9", "0 to 0.999999", "momentum factor of memory=momentum"},
      EtaOption(),
      {"nesterov", "off", "on, off", "use Nesterov momentum with memory=momentum"},
      {"masking", "on", "on, off", "set the momentum to 0 at the positions that were sent"},
      {"local_clip", "0", "0 to 1e30",
       "clip each worker's whole gradient to this norm / sqrt(workers); 0: no clipping"},
      {"reduction", "gather", "gather, requantise, hop, ring, butterfly",
       "gather: every worker receives all messages; requantise: each worker averages a slice and "
       "quantises it again; hop: a ring rounds each partial sum (fp16, bf16); ring, butterfly: "
       "each "
       "partial sum is quantised again on its way (mx, qsgd, maxmin)"},
      {"feedback", "off", "off, first",
       "residuals with reduction=ring and butterfly: none, as nobody owns the errors of hops; or "
       "that of the part of a worker's values that it sends first"},
      SliceOption(),
      {"where", "worker", "worker, after-mean, server, both",
       "what is compressed: each worker's gradient; their mean, after a dense all-reduce, which "
       "saves no bytes; the mean at a parameter server, in its answers; both each gradient and the "
       "mean"},
      {"servers", "1", "1 to 65536",
       "parameter servers with where=server and both, each with a slice of every unit; scenarios "
       "take those of --aggregation=sharded-parameter-server"},
      {"again", "off", "off, gather, dense",
       "second call of where=after-mean, as published programs have it: all-gather of the equal "
       "messages, or dense all-reduce of what they say"}};
  return specs;
}

CodecSchemeOptions ReadCodecSchemeOptions(const OptionReader& reader,
                                          const SchemeOptions& options) {
  CodecSchemeOptions read;
  const size_t memory = reader.Choice("memory", kMemories);
  const bool momentum = memory == 1, averages = memory == 4;
  read.ef21 = ReadEf21(kMemories[memory], reader, options);
  if (momentum && !options.error_feedback) {
    throw Error("memory", "momentum", "residual; momentum correction needs error feedback");
  }
  read.memory.kind = momentum                 ? MemoryKind::kMomentum
                     : options.error_feedback ? MemoryKind::kResidual
                                              : MemoryKind::kNone;
  if (averages) {
    if (!options.error_feedback) {
      throw Error("memory", "loco", "residual; it is a form of error feedback");
    }
    read.memory.average = static_cast<float>(reader.Number("beta", 0, kLargestMomentum));
    read.memory.reset = reader.Integer("reset_every", 0, kMostSteps);
  }
  const size_t storage = reader.Choice("storage", kStorages);
  read.memory.storage = static_cast<ResidualStorage>(storage);
  if (storage > 0 && (momentum || read.ef21)) {
    throw Error("storage", std::string(kStorages[storage]),
                "fp32 with memory=" + std::string(kMemories[memory]));
  }
  read.memory.momentum = static_cast<float>(reader.Number("momentum", 0, kLargestMomentum));
  read.memory.nesterov = reader.Switch("nesterov");
  read.memory.masking = reader.Switch("masking");
  read.memory.decay = static_cast<float>(options.residual_decay);
  read.residual_decay = options.residual_decay;
  read.local_clip = reader.Number("local_clip", 0, kLargestClip);
  read.min_numel = reader.Integer("min_numel", 0, kMaxUnitElements);
  read.vectors = reader.Switch("vectors");
  read.where = static_cast<Where>(reader.Choice("where", kPlaces));
  read.summing = static_cast<Summing>(reader.Choice("reduction", kReductions));
  read.first_feedback = reader.Choice("feedback", kFeedbacks) == 1;
  read.slice = ReadSlice(reader);
  if (HopOrderOf(read.summing)) {
    if (read.where != Where::kWorker) {
      throw Error("where", std::string(kPlaces[static_cast<size_t>(read.where)]),
                  "worker with sums that are encoded at every hop");
    }
    if (momentum || averages) {
      throw Error("memory", std::string(kMemories[memory]),
                  "residual with sums that hops encode again");
    }
    if (storage > 0) {
      throw Error("storage", std::string(kStorages[storage]),
                  "fp32 with sums that hops encode again");
    }
    if (!read.first_feedback) read.memory.kind = MemoryKind::kNone;
  } else if (read.first_feedback) {
    throw Error("feedback", "first", "off without reduction=ring or butterfly");
  }
  read.servers = static_cast<int>(reader.Integer("servers", 1, kMostServers));
  if (read.servers > 1 && read.where != Where::kServer && read.where != Where::kBoth) {
    throw Error("servers", std::to_string(read.servers), "1 without where=server or where=both");
  }
  read.again = static_cast<Again>(reader.Choice("again", kAgain));
  if (read.again != Again::kOff && read.where != Where::kAfterMean) {
    throw Error("again", std::string(kAgain[static_cast<size_t>(read.again)]),
                "off without where=after-mean");
  }
  if (read.ef21 && (read.where != Where::kWorker || read.summing != Summing::kPlain)) {
    throw Error("memory", std::string(kMemories[memory]),
                "residual, momentum with where and reduction other than worker and gather");
  }
  return read;
}

}  // namespace legacy
