// The table of congestion controls, and how one is made from text: NAME, or
// NAME:key=value+key=value, as "hpcc:eta=0.9+stages=0". A new control is a file with a row, and a
// line in the table of controls.cc.
#pragma once

#include "control.h"

#include "base/settings.h"

#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A RoceKey describes a parameter of a control, for lists and documentation.
struct RoceKey
{
    std::string name;
    std::string fallback;     ///< its default, read where the key is not given; "" where it depends
    std::string allowed;      ///< "0.1 to 1", "a time > 0"
    std::string help;         ///< what it is, and its unit
    std::string source;       ///< where the default is from
    std::string depends = {}; ///< what a default is that depends on other keys or on the path
};

/// A RoceControlRow is a row of the table.
struct RoceControlRow
{
    std::string name;
    std::string help;
    std::string paper; ///< authors, title, venue
    std::vector<RoceKey> keys = {};
    /// Makes it with what the settings have. It may read the row's keys alone, and throws Error on
    /// values outside of what is allowed.
    std::unique_ptr<const RoceControl> (*make)(Settings& settings) = nullptr;
};

/// Returns the row of `none`, a control that does nothing.
RoceControlRow NoControlRow();

/// Returns the table.
const std::vector<RoceControlRow>& RoceControls();

/// Makes the control that `text` names. Throws Error naming `option`, the key, its value and what
/// is allowed; for a name or a key that does not exist it names the nearest.
std::unique_ptr<const RoceControl> MakeRoceControl(const std::string& text,
                                                   const std::string& option);

/// Returns `text` with keys in alphabetical order: equal texts are equal controls.
std::string CanonicalRoceControl(const std::string& text, const std::string& option);

} // namespace legacy::fabric
