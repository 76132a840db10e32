// A codec run tries a codec (or scheme) on gradients: the real exchange of every layer among all
// workers, step by step, under a policy. Beside it one worker alone goes through the same exchange,
// which says what its own message loses and what coding costs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/codec/gradient_source.h"
#include "scenarios/codec/traffic.h"

namespace legacy {

// A CodecChoice is a scheme by its text, and its parameter: "topk:index=u32@1%".
struct CodecChoice {
  std::string scheme;
  double parameter = 0;
};
// Reads a choice. `parameter` is for codecs that name none; empty: their default. Throws Error as
// MakeScheme does, and on bare numbers above 1 where a fraction is meant.
CodecChoice ParseCodec(const std::string& text, const std::string& parameter = {});
// Reads a parameter; fractions are "1%" or "0.01". Throws Error naming `where`.
double ParseParameter(const std::string& text, const ParameterSpec& spec, const std::string& where);

// RunOptions configure a run.
struct RunOptions {
  std::string policy = "uniform";
  LegacyTable table = {};  // table of the policies legacy-layer, legacy-phase and legacy-both
  std::optional<bool> error_feedback;  // none: error feedback where the codec allows it
  uint64_t seed = 1;
  int64_t first_step = 0;
  int repeats = 5;  // repetitions of what is measured; the median counts
  Collectives collectives;
  LinkEstimate link = {.latency_seconds = 10e-6, .seconds_per_byte = 8 / 1e9};
  double compute_seconds = 0;  // computing of a step, for policies that read the clock
  int64_t steps_per_epoch = 1;
};

// A CodecRecord is one layer in one step, or what a policy itself sent.
struct CodecRecord {
  int64_t step = 0;
  std::string layer;
  int64_t elements = 0;
  double parameter = 0;
  // These are of worker 0.
  int64_t elements_sent = 0;
  int64_t message_bytes = 0;
  int64_t header_bytes = 0;     // part of message_bytes
  double nic_bytes = 0;         // bytes that leave a worker's NIC, the mean over the workers
  double transfer_seconds = 0;  // seconds by alpha-beta
  // These are of one worker alone: its error-fed gradient e, what is decoded of it, and their
  // difference.
  double squared = 0;
  double kept_squared = 0;
  double error_squared = 0;
  // These are of the mean over all workers: of e, and its difference to the decoded one.
  double mean_squared = 0;
  double mean_error_squared = 0;
  // These are measured with one worker alone.
  double encode_seconds = 0;
  double decode_seconds = 0;
};

// A CodecResult is what came of one choice.
struct CodecResult {
  CodecChoice codec;
  ParameterSpec parameter;
  bool error_feedback = false;
  std::vector<CodecRecord> records;
  // Messages of the one worker alone, in the last step, by layer and call.
  std::vector<Bytes> messages;
};

// Runs a choice on all steps of the source.
CodecResult RunCodec(const CodecChoice& codec, const RunOptions& options, GradientSource& source);

// Returns the scheme with error feedback as asked, or where it allows that at `parameter`.
// `feedback` becomes which.
std::unique_ptr<Scheme> OpenScheme(const CodecChoice& codec, std::optional<bool> error_feedback,
                                   bool* feedback);

}  // namespace legacy
