// Constants of Cubic (RFC 9438), which the packet and the flow engine share. Internal to fabric/
// and model/.
#pragma once

namespace legacy::fabric
{

inline constexpr double kCubicGrowth = 0.4; ///< C, segments a second cubed (section 5.1)
inline constexpr double kCubicKeeps = 0.7;  ///< beta, part of a window after a loss (section 4.6)
/// Segments that Cubic's estimate of Reno grows by in a round trip (section 4.3). Linux keeps this
/// slope beyond the window at the last loss.
inline constexpr double kCubicFriendlyGrowth = 3 * (1 - kCubicKeeps) / (1 + kCubicKeeps);

} // namespace legacy::fabric
