// The families of collectives that MakeCollective and BytesSent choose from; each takes a spec that
// was checked, of two workers or more. Internal to fabric/.
#pragma once

#include "collective.h"

namespace legacy::fabric
{

using CollectiveMaker = std::unique_ptr<Collective>(const CollectiveSpec& spec,
                                                    uint16_t tagBase,
                                                    Collective::DoneCallback done);

CollectiveMaker MakeRing; ///< collective-ring.cc

} // namespace legacy::fabric
