/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// The side of legacy-packet in the protocol with its user (wire/protocol.h).
#ifndef LEGACY_PACKET_SERVER_H
#define LEGACY_PACKET_SERVER_H

#include "fabric/engine/engine.h"
#include "fabric/step/step.h"
#include "helper/packet-engine-helper.h"
#include "wire/frames.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace legacy
{
namespace packet
{

/// A PacketServer answers the frames of one user until the user is gone.
class PacketServer
{
  public:
    /// Frames are read from `in` and written to `out`.
    PacketServer(int in, int out);
    ~PacketServer();

    /// Serves until no more frames come. Throws Error on bytes that are no frames.
    void Serve();

  private:
    class UserGraph;

    void Handle(const wire::Frame& frame);
    void Greet(const wire::Frame& frame);
    void MakeEngine(const wire::EngineOrder& order);
    void Submit(const wire::Submission& submission);
    void Run(TimeNs until);
    void End();
    fabric::Engine& Running();
    /// Calls back a graph of the user, and does what it answers. Returns whether it is done.
    bool CallBack(const wire::Call& call, fabric::FlowSink& sink);
    void WriteTiming(uint64_t graph);

    wire::FrameReader m_reader;
    wire::FrameWriter m_writer;
    std::optional<fabric::Topology> m_topology;
    fabric::Placement m_placement;
    fabric::PacketOutputs m_outputs;
    std::map<uint64_t, std::unique_ptr<UserGraph>> m_userGraphs;
    std::map<uint64_t, std::unique_ptr<fabric::StepGraph>> m_steps;
    std::unique_ptr<fabric::Engine> m_engine; ///< on the graphs and the network above
    std::atomic<bool> m_running{false};
    std::jthread m_alive; ///< says so while the engine runs
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_PACKET_SERVER_H
