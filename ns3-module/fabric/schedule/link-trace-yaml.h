// Schedules of links as values of YAML files: internal to fabric/.
#pragma once

#include "link-trace.h"

#include <string>

namespace YAML
{
class Node;
} // namespace YAML

namespace legacy::fabric
{

/// Returns the schedule that `node` describes: a text of link-trace.h; a list of {at: TIME, rate:
/// RATE}, whose last rate holds; a map {from: TIME, for: TIME}, an outage; or a map {csv: FILE,
/// ...} or {mahimahi: FILE, ...} with the keys of the text form. Throws Error with file, line and
/// column.
ScheduleSpec ReadSchedule(const std::string& path, const YAML::Node& node);

} // namespace legacy::fabric
