// Checks the properties that every codec, every scheme and every policy must have, for methods of a
// user's own (plugins) and for the toolkit's: `legacy-codec check NAME`.
#pragma once

#include <string>
#include <vector>

namespace legacy {

// A CheckedProperty is one property, with the result of its check.
struct CheckedProperty {
  std::string name;  // "length", "hostile bytes"
  bool holds = false;
  std::string detail;  // first case in which it does not hold, or what was tried
};

// Checks the codec of that text ("topk:index=u32+rbf"). The properties: kernels that it charges
// have a cost; equal input gives equal bytes, from two threads as well; messages have the announced
// length; messages decode; sent values and residual add up to the input; the residual stays bounded
// where error feedback is allowed; the estimated error is right; values that are not finite,
// parameters outside the range and other units' messages are refused; hostile bytes, in a process
// of their own, do no harm. Throws Error where the text is not a codec.
std::vector<CheckedProperty> CheckCodec(const std::string& text);

// Checks the scheme of that text ("powersgd:warm=off"), over exchanges of three workers. The
// properties: kernels that it charges have a cost; equal input gives equal bytes; messages have the
// planned lengths; means are finite; residuals stay bounded where error feedback is used; a saved
// and loaded exchange continues as before; values that are not finite and parameters outside the
// range are refused; hostile bytes, in a process of their own, do no harm. Throws Error where the
// text is not a scheme.
std::vector<CheckedProperty> CheckScheme(const std::string& text);

// Checks the policy of that text over Top-K, or over FFT where it needs that. The properties:
// parameters are inside the range in every step; equal input gives equal parameters; a saved and
// loaded policy continues as before; hostile states do no harm. Throws Error where the text is not
// a policy.
std::vector<CheckedProperty> CheckPolicy(const std::string& text);

}  // namespace legacy
