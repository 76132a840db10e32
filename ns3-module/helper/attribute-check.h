/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ATTRIBUTE_CHECK_H
#define LEGACY_ATTRIBUTE_CHECK_H

#include <map>
#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Checks ns-3 attributes as the user wrote them: "ns3::TcpSocket::SegmentSize" -> "1000".
 *
 * ns-3 ends the process on many malformed values, even in its fail-safe setters. So a forked child
 * parses the values first, and only those that it accepts are set here. Attributes that the network
 * sets on its own objects are refused; the message says what decides them.
 *
 * \param attributes full name to value
 * Throws Error that names the attribute, its value and what is allowed (or similar names).
 */
void CheckAttributes(const std::map<std::string, std::string>& attributes);

/**
 * \param name that was asked for
 * \param known names that exist
 * \return up to three of `known` that `name` may have meant, nearest first
 */
std::vector<std::string> SuggestNames(const std::string& name,
                                      const std::vector<std::string>& known);

} // namespace packet
} // namespace legacy

#endif // LEGACY_ATTRIBUTE_CHECK_H
