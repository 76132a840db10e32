/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulation-scope.h"

#include "attribute-check.h"

#include "fabric/error.h"

#include "ns3/config.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/tcp-congestion-ops.h"

#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

/// Seeds of L'Ecuyer's MRG32k3a (ns-3's generator) are below its smaller modulus, and not 0.
constexpr uint64_t kSeeds = 4294944443ULL - 1;

std::string Nanoseconds(fabric::TimeNs time)
{
    return std::to_string(time) + "ns";
}

/// The preset as ns-3 attributes.
std::vector<std::pair<std::string, std::string>>
PresetAttributes(const fabric::Transport& transport)
{
    return {
        {"ns3::TcpL4Protocol::SocketType", transport.congestionControl},
        {"ns3::TcpSocket::SegmentSize", std::to_string(transport.segmentBytes)},
        {"ns3::TcpSocket::InitialCwnd", std::to_string(transport.initialWindow)},
        {"ns3::TcpSocket::DelAckCount", std::to_string(transport.segmentsPerAck)},
        {"ns3::TcpSocket::DelAckTimeout", Nanoseconds(transport.delayedAckTimeout)},
        {"ns3::TcpSocket::ConnTimeout", Nanoseconds(transport.connectionTimeout)},
        {"ns3::TcpSocket::TcpNoDelay", "true"}, // the last segment of a message waits for nothing
        {"ns3::TcpSocketBase::MinRto", Nanoseconds(transport.minRto)},
        {"ns3::TcpSocketBase::Timestamp", "true"},
        {"ns3::TcpSocketBase::UseEcn", transport.ecn ? "On" : "Off"},
    };
}

void CheckCongestionControl(const std::string& name)
{
    TypeId tid;
    if (TypeId::LookupByNameFailSafe(name, &tid) && tid.IsChildOf(TcpCongestionOps::GetTypeId()) &&
        tid.HasConstructor())
    {
        return;
    }
    std::string known;
    for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
    {
        const TypeId candidate = TypeId::GetRegistered(i);
        if (candidate.IsChildOf(TcpCongestionOps::GetTypeId()) && candidate.HasConstructor())
        {
            known += (known.empty() ? "" : ", ") + candidate.GetName();
        }
    }
    throw fabric::Error("congestion control", name, known);
}

} // namespace

SimulationScope::SimulationScope(const fabric::Transport& transport, uint64_t seed, uint64_t run)
    : m_seed(RngSeedManager::GetSeed()),
      m_run(RngSeedManager::GetRun())
{
    CheckCongestionControl(transport.congestionControl);
    CheckAttributes(transport.attributes);
    for (const auto& [name, value] : PresetAttributes(transport))
    {
        SetDefault(name, value);
    }
    for (const auto& [name, value] : transport.attributes)
    {
        SetDefault(name, value);
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
