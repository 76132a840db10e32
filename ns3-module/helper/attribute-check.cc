/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "attribute-check.h"

#include "base/error.h"
#include "base/nearest.h"

#include "ns3/string.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

using AttributeInformation = TypeId::AttributeInformation;

/// Returns the attributes that this module sets on each object it makes, and what decides their
/// values. A value that a user gives for them would have no effect. All other attributes keep the
/// user's values.
const std::map<std::string, std::string>& SetByTheNetwork()
{
    static const std::map<std::string, std::string> owners = {
        {"ns3::PointToPointNetDevice::Address", "the number of its link sets it"},
        {"ns3::PointToPointNetDevice::DataRate", "the network's bandwidth sets it, as --bandwidth"},
        {"ns3::PointToPointNetDevice::Mtu", "the network's MTU sets it, as --mtu"},
        {"ns3::PointToPointNetDevice::ReceiveErrorModel", "a topology's 'error' of links sets it"},
        {"ns3::PointToPointNetDevice::TxQueue", "the network's queues set it, as --queue"},
        {"ns3::PointToPointChannel::Delay", "the network's delay sets it, as --delay"},
        {"ns3::DropTailQueue<Packet>::MaxSize", "the network's queues set it, as --queue"},
        {"ns3::FifoQueueDisc::MaxSize", "the network's queues set it, as --queue"},
        {"ns3::TbfQueueDisc::Burst", "a topology's 'burst' of links sets it"},
        {"ns3::TbfQueueDisc::Rate", "the network's bandwidth sets it, as --bandwidth"},
        {"legacy::HostQueueDisc::Quantum", "the network's MTU sets it, as --mtu"},
        {"ns3::RateErrorModel::ErrorRate", "a topology's 'error' of links sets it"},
        {"ns3::RateErrorModel::ErrorUnit", "a topology's 'error' of links counts packets"},
    };
    return owners;
}

void CheckOwner(const std::string& name, const std::string& value)
{
    const auto owned = SetByTheNetwork().find(name);
    if (owned != SetByTheNetwork().end())
    {
        throw Error("ns-3 attribute " + name,
                    value,
                    "no value, as it would have no effect: " + owned->second);
    }
}

std::string Join(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
    {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// Returns the "allowed" part of an error about a name: similar names, or the form of a name.
std::string Near(const std::string& name, const std::vector<std::string>& known)
{
    const std::vector<std::string> names = SuggestNames(name, known);
    return names.empty() ? "an ns-3 attribute, as ns3::TcpSocket::SegmentSize" : Join(names);
}

std::vector<std::string> TypeNames()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
    {
        names.push_back(TypeId::GetRegistered(i).GetName());
    }
    return names;
}

/// Splits "type::Attribute" and finds the attribute. It must be the type's own, as
/// Config::SetDefault demands.
AttributeInformation Find(const std::string& name, const std::string& value)
{
    const std::size_t colons = name.rfind("::");
    const std::string type = colons == std::string::npos ? name : name.substr(0, colons);
    TypeId tid;
    if (colons == std::string::npos || !TypeId::LookupByNameFailSafe(type, &tid))
    {
        throw Error("ns-3 attribute " + name, value, "types like " + Near(type, TypeNames()));
    }
    std::vector<std::string> known;
    for (std::size_t i = 0; i < tid.GetAttributeN(); ++i)
    {
        const AttributeInformation information = tid.GetAttribute(i);
        if (type + "::" + information.name == name)
        {
            return information;
        }
        known.push_back(information.name);
    }
    const std::string attribute = name.substr(colons + 2);
    for (TypeId parent = tid; parent.HasParent(); parent = parent.GetParent())
    {
        const TypeId above = parent.GetParent();
        for (std::size_t i = 0; i < above.GetAttributeN(); ++i)
        {
            if (above.GetAttribute(i).name == attribute)
            {
                throw Error("ns-3 attribute " + name, value, above.GetName() + "::" + attribute);
            }
        }
    }
    const std::vector<std::string> near = SuggestNames(attribute, known);
    throw Error("ns-3 attribute " + name,
                value,
                "attributes of " + type + ": " + Join(near.empty() ? known : near));
}

/// Runs in the child process. Its exit status is 0 where the value parses and is in range; any
/// other status, or a signal, means a bad value.
[[noreturn]] void TryValue(const AttributeInformation& information, const std::string& value)
{
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::signal(SIGABRT, SIG_DFL);
    const int sink = open("/dev/null", O_WRONLY);
    dup2(sink, STDOUT_FILENO);
    dup2(sink, STDERR_FILENO);
    bool good = false;
    try
    {
        good = information.checker->CreateValidValue(StringValue(value)) != nullptr;
    }
    // Like an abort, an exception means a bad value.
    catch (...)
    {
    }
    _exit(good ? 0 : 1);
}

bool Survives(const AttributeInformation& information, const std::string& value)
{
    const pid_t child = fork();
    if (child < 0)
    {
        throw Error("cannot fork a process to check ns-3 attributes");
    }
    if (child == 0)
    {
        TryValue(information, value);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

std::vector<std::string> SuggestNames(const std::string& name,
                                      const std::vector<std::string>& known)
{
    constexpr std::size_t kMost = 3;
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const std::string& candidate : known)
    {
        const std::size_t distance = EditDistance(name, candidate);
        if (distance <= std::max<std::size_t>(2, name.size() / 4))
        {
            ranked.emplace_back(distance, candidate);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::string> names;
    for (const auto& entry : ranked)
    {
        if (names.size() < kMost)
        {
            names.push_back(entry.second);
        }
    }
    return names;
}

void CheckAttributes(const std::map<std::string, std::string>& attributes)
{
    for (const auto& [name, value] : attributes)
    {
        const AttributeInformation information = Find(name, value);
        CheckOwner(name, value);
        if (!Survives(information, value))
        {
            const std::string range = information.checker->HasUnderlyingTypeInformation()
                                          ? information.checker->GetUnderlyingTypeInformation()
                                          : information.checker->GetValueTypeName();
            throw Error("ns-3 attribute " + name, value, range + " (" + information.help + ")");
        }
    }
}

} // namespace packet
} // namespace legacy
