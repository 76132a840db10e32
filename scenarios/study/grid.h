// A study's definition says what does not vary (a scenario), the axes that do, and which of their
// combinations count. docs/studies.md has the format:
//
//   study:    {name: bandwidth, title: ..., baseline: dense}
//   scenario:                   # as a scenario file
//     {training: {...}, network: {...}, compression: {...}, run: {seeds: 3}, methods: {...}}
//   grid:
//     bandwidth: {from: 10Mbps, to: 400Gbps, points: 14}   # equal steps of the logarithm
//     workers: [8, 16]          # any option, by its flag or its key
//     oversubscription: {values: [1, 2, 4], set: {topo: "leaf-spine:oversubscription={}"}}
//     links:                    # named settings of several options
//       {cases: {lan: {delay: 10us}, wan: {delay: 10ms, transport: wan}}}
//   include:                    # more values, with all of the axes not named
//     [{bandwidth: 1Tbps, workers: 64}]
//   exclude:                    # points to which all that is named applies
//     [{policy: [dense, fp16], density: [0.1%, 10%]}]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Settings are option keys and their texts.
using Settings = std::map<std::string, std::string>;

// A GridAxis is one axis with its values.
struct GridAxis {
  analysis::StudyAxis axis;        // the axis; policy and seed are none, as they are the scenario's
  std::vector<Settings> settings;  // settings of each value
};

// A StudyDefinition is the YAML, read and checked.
struct StudyDefinition {
  std::string name;
  std::string title;
  std::string baseline;
  std::string text;  // YAML
  Scenario scenario;
  std::vector<GridAxis> axes;
  // Each point's positions of values, axis by axis: the full grid less `exclude`, then `include`.
  struct Combination {
    std::string policy;
    uint64_t seed = 0;
    std::vector<size_t> values;
  };
  std::vector<Combination> points;
};

// Read a definition. Throw Error "file:line:column: ..." on anything that is wrong: unknown keys
// and axes, values that an option refuses, points that stand twice, an empty grid.
StudyDefinition LoadStudy(const std::string& path);
StudyDefinition ParseStudy(const std::string& text, const std::string& where);

// Returns the scenario of one point, of one policy and one seed, with every option as the
// definition has it.
Scenario ScenarioOf(const StudyDefinition& definition,
                    const StudyDefinition::Combination& combination);

// Returns a point for people: "topk, seed 1, bandwidth 1Gbps, workers 8".
std::string PointText(const StudyDefinition& definition,
                      const StudyDefinition::Combination& combination);

// False for options on which neither training nor time depends: files, threads, the doctor, traces.
bool AffectsResults(const std::string& key);

}  // namespace legacy
