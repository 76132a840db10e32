/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-line.h"

#include "base/hash.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

void RoceLine::DrawLoss(uint64_t seed, uint64_t draws, uint64_t link)
{
    // The gap to the next loss is geometric, with one draw for each loss.
    const double u = UnitInterval(HashWords({seed, draws, link, m_losses++, 0x6c6f7373}));
    m_untilLoss =
        m_errorRate >= 1
            ? 0
            : static_cast<int64_t>(std::min(std::log(u) / std::log1p(-m_errorRate), 9e18));
}

} // namespace packet
} // namespace legacy
