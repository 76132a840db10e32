/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-engine-helper.h"

#include "simulation-scope.h"
#include "simulator-lease.h"

#include "fabric/error.h"
#include "model/packet-engine.h"

#include <sstream>

namespace legacy
{
namespace packet
{

namespace
{

using fabric::EngineRequest;
using fabric::TimeNs;

/// fabric::Engine over a PacketEngine that owns the process's simulator.
class OwningEngine final : public fabric::Engine
{
  public:
    explicit OwningEngine(const EngineRequest& request)
        : m_transport(request.transport.Fingerprint()),
          m_scope(request.transport, request.seed, request.run),
          m_engine(ns3::CreateObject<PacketEngine>())
    {
        m_engine->Build(request.topology, request.placement, request.transport);
    }

    ~OwningEngine() override
    {
        m_engine->Dispose();
    }

    std::string Name() const override
    {
        return "packet";
    }

    bool Random() const override
    {
        return m_engine->GetNetwork()->IsRandom();
    }

    bool DependsOnTime() const override
    {
        return false;
    }

    std::string Fingerprint() const override
    {
        return "packet 1 " + m_transport;
    }

    void Submit(fabric::FlowGraph& graph, TimeNs start) override
    {
        m_engine->Submit(graph, start);
    }

    bool RunUntil(TimeNs until) override
    {
        return m_engine->RunUntil(until);
    }

    TimeNs Now() const override
    {
        return PacketEngine::Now();
    }

    fabric::EngineCounters Counters() const override
    {
        return m_engine->GetCounters();
    }

    std::vector<fabric::LinkCounters> Links() const override
    {
        return m_engine->GetNetwork()->GetCounters();
    }

    void SetFlowTrace(fabric::FlowTrace trace) override
    {
        m_engine->SetFlowTrace(std::move(trace));
    }

    std::string Save() const override
    {
        return "packet 1 " + std::to_string(Now()) + " " + std::to_string(m_engine->GetDraws());
    }

    void Restore(const std::string& state) override
    {
        std::istringstream in(state);
        std::string name;
        int version = 0;
        TimeNs now = 0;
        uint64_t draws = 0;
        if (!(in >> name >> version >> now >> draws) || name != "packet" || version != 1 ||
            now < Now() || !(in >> std::ws).eof())
        {
            throw fabric::Error("state of a packet engine",
                                state,
                                "'packet 1 NOW DRAWS', as Save wrote it, on a fresh engine");
        }
        m_engine->Restore(now, draws);
    }

  private:
    SimulatorLease m_lease;  //!< first in, last out
    std::string m_transport; //!< fingerprint
    SimulationScope m_scope; //!< defaults that sockets read while the simulation runs
    ns3::Ptr<PacketEngine> m_engine;
};

} // namespace

} // namespace packet

namespace fabric
{

std::unique_ptr<Engine> MakePacketEngine(const EngineRequest& request)
{
    return std::make_unique<packet::OwningEngine>(request);
}

} // namespace fabric
} // namespace legacy
