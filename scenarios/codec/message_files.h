// Message files hold one worker's messages: the bytes as they are sent, one file for each
// collective call. FILE is the first call's, FILE.2 the second's and so on.
#pragma once

#include <string>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// Writes the messages of one worker.
void WriteMessages(const std::vector<Bytes>& messages, const std::string& path);

// Returns what receivers decode from one worker's messages. `context` has the seed, step and
// parameter with which they were made. Throws Error on files that cannot be read and on bytes that
// are not such messages.
std::vector<float> ReadMessages(const Scheme& scheme, const Unit& unit, const UnitStep& context,
                                const std::string& path);

// Writes raw little-endian fp32; "-" is standard output.
void WriteFloats(const std::vector<float>& values, const std::string& path);

}  // namespace legacy
