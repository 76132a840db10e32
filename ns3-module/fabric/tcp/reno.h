// Internal to fabric/tcp.
#pragma once

#include "congestion.h"

namespace legacy::fabric
{

/// Reno (RFC 5681) with the byte counting of RFC 3465, as in Linux.
class Reno : public TcpCongestion
{
  public:
    void Grow(TcpWindow& window, const TcpAck& ack) override;
    uint32_t Threshold(const TcpWindow& window) override;
};

} // namespace legacy::fabric
