// A codec run tries a codec (or scheme) on gradients: the real exchange of every layer among all
// workers, step by step, under a policy. In addition, one worker alone goes through the same
// exchange, which measures what its own message loses and how long coding takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parsed.h"
#include "compress/exchange.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/codec/gradient_source.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// A CodecChoice is a scheme by its text, and its parameter: "topk:index=u32@1%".
struct CodecChoice {
  std::string scheme;
  double parameter = 0;
};
// Reads a choice. `parameter` is for codecs whose text has none; empty: their default. Throws Error
// as MakeScheme does, and on bare numbers above 1 where a fraction is meant.
CodecChoice ParseCodec(const std::string& text, const std::string& parameter = {});
// Reads a parameter; fractions are "1%" or "0.01". Throws Error naming `where`.
double ParseParameter(const std::string& text, const ParameterSpec& spec, const std::string& where);

// Returns nothing for "auto": error feedback where the codec allows it.
std::optional<bool> ParseErrorFeedback(const std::string& text, const std::string& key);

// RunOptions configure a run.
struct RunOptions {
  std::string policy = "uniform";
  LegacyTable table = {};  // table of the policies legacy-layer, legacy-phase and legacy-both
  Parsed<ParseErrorFeedback> error_feedback = "auto";
  uint64_t seed = 1;
  int64_t first_step = 0;
  int repeats = 5;  // repetitions of each measurement, of which the median counts
  Parsed<ParseAlgorithms> transfers = "";
  Rate bandwidth = "1Gbps";
  Time latency = "10us";
  Time compute = "0s";  // compute time of a step, for policies that read the clock
  int64_t steps_per_epoch = 1;

  // Returns the link, without closed forms of collective calls.
  LinkEstimate Link() const;
};

// A CodecRecord is the result of one layer in one step, or of a policy's own messages.
struct CodecRecord {
  int64_t step = 0;
  std::string layer;
  int64_t elements = 0;
  double parameter = 0;
  // Messages of worker 0.
  int64_t elements_sent = 0;
  int64_t message_bytes = 0;
  int64_t header_bytes = 0;     // part of message_bytes
  double nic_bytes = 0;         // bytes that leave a worker's NIC, the mean over the workers
  double transfer_seconds = 0;  // seconds by alpha-beta
  // Squared norms of one worker alone: of e = gradient + residual, of the decoded message, and of
  // their difference.
  double squared = 0;
  double kept_squared = 0;
  double error_squared = 0;
  // Squared norms of the means over all workers: of e, and of its difference to the decoded mean.
  double mean_squared = 0;
  double mean_error_squared = 0;
  // Times that are measured with one worker alone.
  double encode_seconds = 0;
  double decode_seconds = 0;
};

// A CodecResult is the result of one choice.
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

// Returns the scheme with or without error feedback. nullopt: with error feedback where the scheme
// allows it at `parameter`. `feedback` becomes the choice.
std::unique_ptr<Scheme> OpenScheme(const CodecChoice& codec, std::optional<bool> error_feedback,
                                   bool* feedback);

}  // namespace legacy
