/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulation-scope.h"

#include "attribute-check.h"

#include "base/error.h"
#include "fabric/tcp/controls.h"

#include "ns3/config.h"
#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-base.h"

#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

/// The seeds of L'Ecuyer's MRG32k3a (ns-3's generator) are below its smaller modulus, and not 0.
constexpr uint64_t kSeeds = 4294944443ULL - 1;

constexpr const char* kSocketType = "ns3::TcpL4Protocol::SocketType";
/// A congestion control that ns-3 has, but that is not fit for use.
constexpr const char* kBroken = "ns3::TcpBbr";

std::string Nanoseconds(TimeNs time)
{
    return std::to_string(time) + "ns";
}

/// Returns the name of an ns-3 type: that of a TcpControlRow, or "ns3::TcpVegas" for "TcpVegas".
std::string Qualified(const std::string& name)
{
    for (const fabric::TcpControlRow& control : fabric::TcpControls())
    {
        if (control.name == name)
        {
            return control.sockets;
        }
    }
    return name.find("::") == std::string::npos ? "ns3::" + name : name;
}

/// True if a socket can use the type as its congestion control. The parent types do not decide
/// this: ns-3 3.37 derives TcpCubic's type from that of TcpSocketBase.
bool IsCongestionControl(TypeId tid)
{
    const bool likely =
        tid.IsChildOf(TcpCongestionOps::GetTypeId()) || tid.IsChildOf(TcpSocketBase::GetTypeId());
    if (!likely || !tid.HasConstructor())
    {
        return false;
    }
    ObjectFactory factory;
    factory.SetTypeId(tid);
    return DynamicCast<TcpCongestionOps>(factory.Create<Object>()) != nullptr;
}

std::string KnownCongestionControls()
{
    std::string known;
    for (const fabric::TcpControlRow& control : fabric::TcpControls())
    {
        known += control.sockets == kBroken ? "" : control.name + ", ";
    }
    std::size_t listed = 0;
    for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
    {
        const TypeId candidate = TypeId::GetRegistered(i);
        if (candidate.GetName() != kBroken && IsCongestionControl(candidate))
        {
            known += (listed++ == 0 ? "" : ", ") + candidate.GetName();
        }
    }
    return known;
}

void CheckCongestionControl(const std::string& place, const std::string& name)
{
    if (name == kBroken)
    {
        throw Error(place,
                    name,
                    KnownCongestionControls() +
                        "; not ns-3's BBR, which sends a segment a time-out after losses: wan and "
                        "datacenter without ns3: have their own (docs/engines.md)");
    }
    TypeId tid;
    if (!TypeId::LookupByNameFailSafe(name, &tid) || !IsCongestionControl(tid))
    {
        throw Error(place, name, KnownCongestionControls());
    }
}

/// Throws Error if the user set a segment size that does not fit the MTU. Such segments would be
/// sent in fragments.
void CheckSegment(const fabric::Transport& transport)
{
    constexpr const char* kSegmentSize = "ns3::TcpSocket::SegmentSize";
    constexpr int64_t kLeastHeaders = 40; // IPv4 and TCP without options
    const auto set = transport.attributes.find(kSegmentSize);
    const int64_t most = transport.Mtu() - kLeastHeaders;
    if (set != transport.attributes.end() && std::stoll(set->second) > most)
    {
        throw Error(std::string("ns-3 attribute ") + kSegmentSize,
                    set->second,
                    "up to " + std::to_string(most) + " with an MTU of " +
                        std::to_string(transport.Mtu()) +
                        "; --mtu makes room for more, at all fidelities");
    }
}

/// Returns the preset as ns-3 attributes.
std::vector<std::pair<std::string, std::string>>
PresetAttributes(const fabric::Transport& transport)
{
    return {
        {kSocketType, Qualified(transport.congestionControl)},
        {"ns3::TcpL4Protocol::RecoveryType", "legacy::HostRecovery"},
        {"ns3::TcpSocket::SegmentSize", std::to_string(transport.segmentBytes)},
        {"ns3::TcpSocket::InitialCwnd", std::to_string(transport.initialWindow)},
        {"ns3::TcpSocket::DelAckCount", std::to_string(transport.segmentsPerAck)},
        {"ns3::TcpSocket::DelAckTimeout", Nanoseconds(transport.delayedAckTimeout)},
        {"ns3::TcpSocket::ConnTimeout", Nanoseconds(transport.connectionTimeout)},
        {"ns3::TcpSocket::DataRetries", "15"},  // Linux (tcp_retries2)
        {"ns3::TcpSocket::TcpNoDelay", "true"}, // sends the last segment of a message at once
        {"ns3::TcpSocketBase::MinRto", Nanoseconds(transport.minRto)},
        {"ns3::TcpSocketBase::Timestamp", "true"},
        {"ns3::TcpSocketBase::UseEcn", transport.ecn ? "On" : "Off"},
    };
}

/// Checks the user's attributes and returns them.
std::map<std::string, std::string> UserAttributes(const fabric::Transport& transport)
{
    std::map<std::string, std::string> attributes = transport.attributes;
    const auto set = attributes.find(kSocketType);
    if (set != attributes.end())
    {
        set->second = Qualified(set->second);
        CheckCongestionControl(std::string("ns-3 attribute ") + kSocketType, set->second);
    }
    CheckAttributes(attributes);
    CheckSegment(transport);
    return attributes;
}

} // namespace

SimulationScope::SimulationScope(const fabric::Transport& transport, uint64_t seed, uint64_t run)
    : m_seed(RngSeedManager::GetSeed()),
      m_run(RngSeedManager::GetRun())
{
    if (!transport.HasFrames())
    {
        SetDefaults(transport);
    }
    RngSeedManager::SetSeed(static_cast<uint32_t>(1 + seed % kSeeds));
    RngSeedManager::SetRun(run);
}

SimulationScope::~SimulationScope()
{
    for (auto saved = m_saved.rbegin(); saved != m_saved.rend(); ++saved)
    {
        saved->tid.SetAttributeInitialValue(saved->index, saved->initial);
    }
    RngSeedManager::SetSeed(m_seed);
    RngSeedManager::SetRun(m_run);
}

void SimulationScope::SetDefaults(const fabric::Transport& transport)
{
    CheckCongestionControl("congestion control", Qualified(transport.congestionControl));
    const std::map<std::string, std::string> attributes = UserAttributes(transport);
    for (const auto& [name, value] : PresetAttributes(transport))
    {
        SetDefault(name, value);
    }
    for (const auto& [name, value] : attributes)
    {
        SetDefault(name, value);
    }
}

void SimulationScope::SetDefault(const std::string& name, const std::string& value)
{
    TypeId tid = TypeId::LookupByName(name.substr(0, name.rfind("::")));
    for (std::size_t i = 0; i < tid.GetAttributeN(); ++i)
    {
        const TypeId::AttributeInformation information = tid.GetAttribute(i);
        if (tid.GetName() + "::" + information.name == name)
        {
            m_saved.push_back({tid, i, information.initialValue});
        }
    }
    Config::SetDefault(name, StringValue(value));
}

} // namespace packet
} // namespace legacy
