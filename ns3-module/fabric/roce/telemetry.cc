#include "telemetry.h"

#include "base/error.h"

#include <algorithm>
#include <array>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kGigabit = 1'000'000'000;
/// Rates by code. The codes of 25 to 400 Gbit/s are those of HPCC's simulator; those of the other
/// rates are ours.
constexpr std::array<int64_t, 16> kIntRates = {25 * kGigabit,
                                               50 * kGigabit,
                                               100 * kGigabit,
                                               200 * kGigabit,
                                               400 * kGigabit,
                                               800 * kGigabit,
                                               1200 * kGigabit,
                                               1600 * kGigabit,
                                               2400 * kGigabit,
                                               3200 * kGigabit,
                                               kGigabit / 10,
                                               kGigabit,
                                               5 * kGigabit / 2,
                                               5 * kGigabit,
                                               10 * kGigabit,
                                               40 * kGigabit};

constexpr int kTimeBits = 24;
constexpr int kSentBits = 20;
constexpr int kQueueBits = 16;
constexpr int64_t kSentUnit = 128;
constexpr int64_t kQueueUnit = 80;
constexpr int kPathBits = 12;
constexpr int kMostSwitches = 15;

uint64_t LowBits(int64_t value, int bits)
{
    return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

} // namespace

uint32_t IntRateCode(double rate, const std::string& where)
{
    for (uint32_t code = 0; code < kIntRates.size(); ++code)
    {
        if (rate == static_cast<double>(kIntRates[code]))
        {
            return code;
        }
    }
    throw Error(where, FormatRate(static_cast<int64_t>(rate)), "with int=wire: " + IntRates());
}

double IntRateOfCode(uint32_t code)
{
    return static_cast<double>(kIntRates.at(code));
}

std::string IntRates()
{
    std::array<int64_t, kIntRates.size()> sorted = kIntRates;
    std::sort(sorted.begin(), sorted.end());
    std::string text;
    for (int64_t rate : sorted)
    {
        text += (text.empty() ? "" : ", ") + FormatRate(rate);
    }
    return text;
}

uint64_t EncodeIntRecord(const IntRecord& record)
{
    constexpr int64_t kLongestQueue = (1 << kQueueBits) - 1;
    uint64_t bits = IntRateCode(record.rate, "rate of a port");
    bits = bits << kTimeBits | LowBits(record.time / 1000, kTimeBits);
    bits = bits << kSentBits | LowBits(record.sentBytes / kSentUnit, kSentBits);
    return bits << kQueueBits |
           LowBits(std::min(record.queuedBytes / kQueueUnit, kLongestQueue), kQueueBits);
}

IntRecord DecodeIntRecord(uint64_t bits)
{
    IntRecord record;
    record.queuedBytes = static_cast<int64_t>(bits & ((1U << kQueueBits) - 1)) * kQueueUnit;
    bits >>= kQueueBits;
    record.sentBytes = static_cast<int64_t>(bits & ((1U << kSentBits) - 1)) * kSentUnit;
    bits >>= kSentBits;
    record.time = static_cast<int64_t>(bits & ((1U << kTimeBits) - 1)) * 1000;
    record.rate = IntRateOfCode(static_cast<uint32_t>(bits >> kTimeBits));
    return record;
}

uint16_t EncodeIntHeader(int switches, uint16_t pathId)
{
    if (switches < 0 || switches > kMostSwitches)
    {
        throw Error("switches of a path", std::to_string(switches), "with int=wire: 0 to 15");
    }
    return static_cast<uint16_t>(switches << kPathBits | (pathId & ((1 << kPathBits) - 1)));
}

IntHeader DecodeIntHeader(uint16_t bits)
{
    return {bits >> kPathBits, static_cast<uint16_t>(bits & ((1 << kPathBits) - 1))};
}

} // namespace legacy::fabric
