// A codec report shows the results of trying codecs, as rows for CSV and JSON and as a table for
// people. Only the measured times differ from run to run.
#pragma once

#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {

// A Detail says for what there is a row: for each codec, for each of its steps, or for each of its
// layers.
enum class Detail : uint8_t { kCodec, kStep, kLayer };
Detail ParseDetail(const std::string& text, const std::string& key);

// Returns the rows. Volumes and times are of one step, as means over the steps; errors are over all
// elements and steps. A value that is not defined (a ratio to nothing) is null.
//
//   parameter           null for a policy's own messages and for codecs without one
//   elements, elements_sent
//   message_bytes       of worker 0, all calls
//   payload_bytes       message_bytes without headers
//   element_ratio       elements / elements_sent
//   payload_ratio       4 elements / message_bytes
//   traffic_ratio       bytes through a NIC: dense fp32 by ring all-reduce / this codec
//   relative_error      ||e - C(e)|| / ||e||, norms of one worker alone, e = gradient + residual
//   gain                ||C(e)||^2 / ||e||^2, energies
//   mean_relative_error relative_error of the mean over all workers
//   transfer_seconds    seconds of all calls by alpha-beta
//   measured_*          one worker alone with its own message; *_bytes_per_second of dense fp32
std::vector<Row> ReportRows(const CodecResult& result, const RunOptions& options, int workers,
                            Detail detail);

// Returns the rows of ReportRows as a table for people.
std::string ReportTable(const std::vector<Row>& rows, Detail detail);

}  // namespace legacy
