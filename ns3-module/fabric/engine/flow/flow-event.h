// The events of the flow engine. Internal to fabric/.
#pragma once

namespace legacy::fabric
{

/// A FlowEvent says what an event of the engine's agenda is about.
struct FlowEvent
{
    enum Kind
    {
        kReady,   ///< a connection may start its next flow; payload: the connection
        kSent,    ///< the last byte of a flow may leave; payload: its connection
        kArrived, ///< a flow has arrived; payload: its slot
        kRate,    ///< the rate of a link changes; payload: its watch
        kLost,    ///< a host fails; payload: a connection that ends at it
    };
};

} // namespace legacy::fabric
