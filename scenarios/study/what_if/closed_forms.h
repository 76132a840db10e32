// Closed forms let the page of a study answer what-if questions without a server: the report puts
// into the page what steps of the recorded trainings are made of, without what depends on the
// network, and the page times them on one switch (analysis/study/web/page_answers.js) as the
// fidelity analytic does.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "analysis/study/study.h"
#include "scenarios/study/what_if/what_if.h"

namespace legacy {

// Most characters of JSON that trainings take in a page.
inline constexpr size_t kMostClosedForms = 200'000;

// Returns {"groups": [...], "refused": [...]} for the page of `study`: the groups of GroupsDocument
// whose network is one switch with equal links, each with a "plan", and the trainings that the page
// cannot answer about, with the reason. Policies that would take more than `most` characters are
// among the latter. A plan has:
//
//   workers, nodes   number of workers; node of each endpoint, workers first, then the server
//   framing          bytes of segments, headers and ACKs
//   own              the question about the study's own network
//   templates        what many steps share: seconds of computing, and the algorithms of calls
//   seconds          seconds of encoding and decoding; steps have positions in this list
//   steps            distinct steps: number of the template, then for each call bytes, encoding,
//                    decoding and, with a server, what is pulled
//   trainings        policy and seed; [step, how many in a row]; evaluations, and which of them
//                    reached the target
//
// Seconds are those of devices and codecs of speed 1.
nlohmann::json ClosedForms(const WhatIf& what_if, const analysis::Study& study,
                           size_t most = kMostClosedForms);

}  // namespace legacy
