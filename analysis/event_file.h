// TensorBoard's event files are TFRecords (length, masked CRC-32C, data, masked CRC-32C) whose data
// are Event messages, encoded as protocol buffers. The formats are TensorFlow's record_writer.h,
// event.proto and summary.proto; https://www.tensorflow.org/tutorials/load_data/tfrecord describes
// the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/files/output_file.h"

namespace legacy::analysis {

struct Scalar {
  std::string_view tag;
  double value = 0;  // value, which is written as a 32-bit float
};

class EventFile {
 public:
  // Creates the file, which replaces an older one, and writes the version of the format; or
  // continues after the last event of the file. Throws Error as OutputFile does.
  explicit EventFile(const std::filesystem::path& path, bool goes_on = false);
  // Writes one event of scalars at one step. `wall_time` is in seconds; TensorBoard's axis
  // "relative" shows its differences. Scalars that are nan, as in runs without training, are left
  // out.
  void Write(double wall_time, int64_t step, std::span<const Scalar> scalars);

 private:
  void WriteRecord(std::string_view data);

  OutputFile file_;
};

// Returns the CRC-32C (Castagnoli) of `data`, as in RFC 3720.
uint32_t Crc32c(std::string_view data);

}  // namespace legacy::analysis
