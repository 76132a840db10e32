// Checks what every codec and every policy has to fulfil, for methods of a user's own (plugins) and
// for the toolkit's: `legacy-codec check NAME`.
#pragma once

#include <string>
#include <vector>

namespace legacy {

// One property, and how it came out.
struct CheckedProperty {
  std::string name;  // "length", "hostile bytes"
  bool holds = false;
  std::string detail;  // the first case in which it does not hold, or what was tried
};

// Checks the codec of that text ("topk:index=u32+rbf"): kernels that it charges have a cost; equal
// bytes from equal input, from two threads as well; the length that it says beforehand; decoding;
// what is sent and the residual add up; a residual that stays bounded where error feedback is
// allowed; the error that it estimates; refusal of values that are not finite, of parameters
// outside its range, of other units' messages; hostile bytes, in a process of their own. Throws
// Error where the text is no codec.
std::vector<CheckedProperty> CheckCodec(const std::string& text);

// Checks the policy of that text over Top-K, or over FFT where it needs that: parameters inside the
// range in every step, the same from the same, a state that goes on as if it had not been saved,
// hostile states. Throws Error where the text is no policy.
std::vector<CheckedProperty> CheckPolicy(const std::string& text);

}  // namespace legacy
