// A study's definition has a scenario for what does not vary, the axes that vary, and the
// combinations of their values that count. docs/studies.md describes the format:
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
//   include:                    # more values, combined with all values of the axes not named
//     [{bandwidth: 1Tbps, workers: 64}]
//   exclude:                    # points that match everything named
//     [{policy: [dense, fp16], density: [0.1%, 10%]}]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/study/study.h"
#include "base/error.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// OptionTexts are keys of options with the options' texts.
using OptionTexts = std::map<std::string, std::string>;

// Places say where in the file keys are, as "study.yaml:4:22: ".
using Places = std::map<std::string, std::string>;

// A GridAxis is one axis with its values.
struct GridAxis {
  analysis::StudyAxis axis;           // policy and seed are no axes: they belong to the scenario
  std::vector<OptionTexts> settings;  // settings of each value
  // For each value, the places of its options that have one of their own, and, under "", its own
  // place.
  std::vector<Places> places;
};

// A StudyDefinition is the YAML after it was read and checked.
struct StudyDefinition {
  std::string name;
  std::string title;
  std::string baseline;
  std::string text;  // YAML
  Scenario scenario;
  // The same options over the defaults of a shape, for points with `layers`.
  Scenario shape_scenario = ShapeDefaults();
  std::vector<GridAxis> axes;
  // The places of the options that every point has, and, under "", that of their section.
  Places places;
  // Positions of each point's values, axis by axis: the full grid less `exclude`, then `include`.
  struct Combination {
    std::string policy;
    uint64_t seed = 0;
    std::vector<size_t> values;
  };
  std::vector<Combination> points;
};

// Read a definition. Throw Error "file:line:column: ..." on unknown keys and axes, values that an
// option refuses, points that appear twice, and an empty grid.
StudyDefinition LoadStudy(const std::string& path);
StudyDefinition ParseStudy(const std::string& text, const std::string& where);

// Returns the scenario of one point, with one policy and one seed and every option as the
// definition sets it.
Scenario ScenarioOf(const StudyDefinition& definition,
                    const StudyDefinition::Combination& combination);

// Returns a point's text for people: "topk, seed 1, bandwidth 1Gbps, workers 8".
std::string PointText(const StudyDefinition& definition,
                      const StudyDefinition::Combination& combination);

// Returns the error of a point. It begins with the place of the option that `error` names, or of
// the value that the point has and the first one has not, or of the section that they share; then
// comes the point.
Error PointError(const StudyDefinition& definition, size_t point, const Error& error);

// Checks the scenario of the first point, and then, for each value, of the first point that has it.
// Throws PointError.
void CheckPoints(const StudyDefinition& definition);

}  // namespace legacy
