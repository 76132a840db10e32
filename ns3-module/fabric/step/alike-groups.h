// Groups of workers whose collectives take the same times, as one network looks to some of them as
// it looks to the others. Internal to fabric/.
#pragma once

#include "build-sharded.h"
#include "fabric/engine/engine.h"

#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A GroupsForm says what decides how a list of collectives runs alone, in numbers that do not
/// depend on where its workers and their links are: the i-th worker in ascending order is i, and so
/// are nodes and links.
struct GroupsForm
{
    std::string text;                ///< equal where lists run alike
    std::vector<int> workers;        ///< the workers by their numbers in the text
    std::vector<DirectedLink> links; ///< the links
};

/// Returns the members of all collectives of a list, ascending.
std::vector<int> MembersOf(const CollectiveGroups& groups);

/// Returns the list as text, with numbers in the place of `members`, which are MembersOf it. Lists
/// whose texts differ do not run alike. Nothing where some collective is among all workers, or has
/// endpoints that are no members.
std::optional<std::string> CallsOf(const CollectiveGroups& groups, const std::vector<int>& members);

/// Returns the form of a list, whose CallsOf are `calls`. It has the nodes of the members, the
/// links that lead from each member of a collective to each other one, and what is known of these
/// links. Two lists with equal forms run at the same times in engines that read nothing else of the
/// network: the renumbering of one to the other keeps the order of workers, nodes and links, by
/// which engines settle ties. Nothing where any of them may take several ways, which depend on
/// hashes of the nodes.
std::optional<GroupsForm>
FormOf(const CollectiveGroups& groups, const std::string& calls, const EngineRequest& network);

} // namespace legacy::fabric
