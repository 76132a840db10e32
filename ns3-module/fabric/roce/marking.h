// ECN marking of a switch's port: RED on the instant queue (Zhu et al., SIGCOMM'15, section 3.1).
// With q bytes in the queue of port and class, a frame is marked with probability
//
//   0 below kmin,  pmax (q - kmin) / (kmax - kmin) up to kmax,  1 above
//
// Text "100KB/400KB/0.2@25Gbps" gives kmin/kmax/pmax of a port of 25 Gbit/s; kmin and kmax of
// others are in proportion to their rates. "+" separates several, of which the one of the largest
// rate that is not above the port's counts, or the first. Without "@" all ports have the same.
#pragma once

#include "base/hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// EcnThresholds are those of one port.
struct EcnThresholds
{
    double leastBytes = 0; ///< kmin
    double mostBytes = 0;  ///< kmax
    double share = 0;      ///< pmax

    /// Returns the probability that a frame is marked.
    double Probability(int64_t queuedBytes) const
    {
        const auto queued = static_cast<double>(queuedBytes);
        if (queued > mostBytes)
        {
            return 1;
        }
        return queued <= leastBytes ? 0 : share * (queued - leastBytes) / (mostBytes - leastBytes);
    }
};

/// Returns a number in [0, 1) for the n-th candidate of a port: the draw of `marking=hash`. A frame
/// is marked where it is below the probability.
inline double MarkingDraw(uint64_t seed, uint64_t port, uint64_t count)
{
    return static_cast<double>(HashWords({seed, port, count}) >> 11) * 0x1p-53;
}

/// An EcnProfile has the thresholds of ports of all rates.
class EcnProfile
{
  public:
    /// The default: HPCC's, "from production".
    static constexpr const char* kDefault = "100KB/400KB/0.2@25Gbps";

    /// Reads the text, or nothing of "off". Throws Error naming `option`.
    static std::optional<EcnProfile> FromText(const std::string& text, const std::string& option);

    /// Returns the thresholds of a port of `rate` bit/s.
    EcnThresholds Of(double rate) const;

    template <class Archive>
    friend void Fields(Archive& archive, EcnProfile& profile)
    {
        archive(profile.m_rows);
    }

  private:
    struct Row
    {
        double rate = 0; ///< 0: of all
        EcnThresholds thresholds;

        template <class Archive>
        friend void Fields(Archive& archive, Row& row)
        {
            auto& [least, most, share] = row.thresholds;
            archive(row.rate, least, most, share);
        }
    };

    static Row ReadRow(const std::string& text, const std::string& option);

    std::vector<Row> m_rows; ///< by rate
};

} // namespace legacy::fabric
