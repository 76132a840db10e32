// Types of a scenario's options that stand for a value: rates, times, sizes and choices. Each keeps
// its text (base/parsed.h).
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/parsed.h"
#include "base/programs/free_memory.h"
#include "base/units.h"
#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/network/engines/network.h"
#include "trainer/clock/precision.h"
#include "trainer/clock/profile.h"
#include "trainer/clock/transfers.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/model_catalog.h"

namespace legacy {

// The part of a text that is evaluated.
enum class TextPart : uint8_t { kTest, kValidation };

// The arithmetic of sums of dense gradients in 16 bits.
enum class SumRule : uint8_t { kExact, kHops };

// Return what the names in options stand for. Throw Error naming `key` and what is allowed.
fabric::Synchronisation ParseSync(const std::string& text, const std::string& key);
TextPart ParseTextPart(const std::string& text, const std::string& key);
// Returns nothing for "auto": that of the data set.
std::optional<Augmentation> ParseAugment(const std::string& text, const std::string& key);
WeightRule ParseInit(const std::string& text, const std::string& key);
// Returns the format of dense gradients on the network; TF32 is none.
Precision ParseReduce(const std::string& text, const std::string& key);
SumRule ParseSum(const std::string& text, const std::string& key);
// Return nothing for "auto", the fastest algorithm on an idle fabric.
std::optional<fabric::CollectiveAlgorithm> ParseAllReduce(const std::string& text,
                                                          const std::string& key);
std::optional<fabric::CollectiveAlgorithm> ParseAllGather(const std::string& text,
                                                          const std::string& key);
// Returns the wall time between two checkpoints; nothing for "off".
std::optional<TimeNs> ParsePeriod(const std::string& text, const std::string& key);
// Returns nothing for "profile": the device profile says.
std::optional<Launches> ParseLaunchesOption(const std::string& text, const std::string& key);

}  // namespace legacy
