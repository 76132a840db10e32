#include "scenarios/codec/codec_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "analysis/tables.h"
#include "base/parse.h"
#include "base/units.h"
#include "trainer/clock/transfers.h"

namespace legacy {
namespace {

constexpr int64_t kDenseBytes = 4;  // fp32

// Returns the ratio, or null if either number is 0.
Row RatioOf(double above, double below) {
  return above > 0 && below > 0 ? Row(above / below) : Row();
}
// Returns part / whole, or `of_nothing` if `whole` is 0: then nothing is lost, and everything is
// kept.
double RelativeTo(double part, double whole, double of_nothing) {
  return whole > 0 ? part / whole : of_nothing;
}

CodecRecord Sum(std::span<const CodecRecord* const> records) {
  CodecRecord sum;
  double weighted = 0;
  for (const CodecRecord* record : records) {
    sum.elements += record->elements;
    weighted += record->parameter * static_cast<double>(record->elements);
    sum.elements_sent += record->elements_sent;
    sum.message_bytes += record->message_bytes;
    sum.header_bytes += record->header_bytes;
    sum.nic_bytes += record->nic_bytes;
    sum.transfer_seconds += record->transfer_seconds;
    sum.squared += record->squared;
    sum.kept_squared += record->kept_squared;
    sum.error_squared += record->error_squared;
    sum.mean_squared += record->mean_squared;
    sum.mean_error_squared += record->mean_error_squared;
    sum.encode_seconds += record->encode_seconds;
    sum.decode_seconds += record->decode_seconds;
  }
  sum.parameter = RelativeTo(weighted, static_cast<double>(sum.elements), 0);
  return sum;
}

Row VolumeOf(const CodecRecord& sum, int workers, double steps) {
  const auto elements = static_cast<double>(sum.elements);
  const double per_step = elements / steps;
  return {
      {"elements", per_step},
      {"elements_sent", static_cast<double>(sum.elements_sent) / steps},
      {"message_bytes", static_cast<double>(sum.message_bytes) / steps},
      {"payload_bytes", static_cast<double>(sum.message_bytes - sum.header_bytes) / steps},
      {"element_ratio", RatioOf(elements, static_cast<double>(sum.elements_sent))},
      {"payload_ratio", RatioOf(kDenseBytes * elements, static_cast<double>(sum.message_bytes))},
      {"traffic_ratio",
       RatioOf(DenseNicBytes(workers, std::llround(per_step)) * steps, sum.nic_bytes)}};
}

Row LossOf(const CodecRecord& sum) {
  if (sum.elements == 0) return {{"relative_error", {}}, {"gain", {}}, {"mean_relative_error", {}}};
  return {
      {"relative_error", std::sqrt(RelativeTo(sum.error_squared, sum.squared, 0))},
      {"gain", RelativeTo(sum.kept_squared, sum.squared, 1)},
      {"mean_relative_error", std::sqrt(RelativeTo(sum.mean_error_squared, sum.mean_squared, 0))}};
}

Row TimesOf(const CodecRecord& sum, double steps) {
  const double bytes = kDenseBytes * static_cast<double>(sum.elements);
  return {{"transfer_seconds", sum.transfer_seconds / steps},
          {"measured_encode_seconds", sum.encode_seconds / steps},
          {"measured_encode_bytes_per_second", RatioOf(bytes, sum.encode_seconds)},
          {"measured_decode_seconds", sum.decode_seconds / steps},
          {"measured_decode_bytes_per_second", RatioOf(bytes, sum.decode_seconds)}};
}

// Groups the records that make up one row, in their order.
std::vector<std::vector<const CodecRecord*>> Groups(const CodecResult& result, Detail detail) {
  std::vector<std::vector<const CodecRecord*>> groups;
  std::map<std::string, size_t> places;
  for (const CodecRecord& record : result.records) {
    const std::string key = detail == Detail::kCodec  ? ""
                            : detail == Detail::kStep ? std::to_string(record.step)
                                                      : record.layer;
    const auto [place, added] = places.emplace(key, groups.size());
    if (added) groups.emplace_back();
    groups[place->second].push_back(&record);
  }
  return groups;
}

struct Column {
  const char* name;
  std::string (*text)(const Row& row);
  size_t width;
};

std::string Count(const Row& value) { return fmt::format("{:.0f}", value.get<double>()); }
std::string Ratio(const Row& value) {
  if (value.is_null()) return "-";
  const double ratio = value.get<double>();
  return analysis::Fixed(ratio, std::min(2, analysis::Decimals(ratio, 4))) + "x";
}
std::string Short(const Row& value) {
  return value.is_null() ? "-" : fmt::format("{:.4g}", value.get<double>());
}
std::string Time(const Row& value) { return FormatTime(std::llround(value.get<double>() * 1e9)); }
std::string GigabytesPerSecond(const Row& value) {
  return value.is_null() ? "-" : fmt::format("{:.3g}", value.get<double>() / 1e9);
}

std::string NameOf(const Row& row) {
  std::string name = row["codec"].get<std::string>();
  if (row["parameter"].is_null()) return name;
  return fmt::format("{}@{:.4g}", name, row["parameter"].get<double>());
}

std::string PlaceOf(const Row& row, Detail detail) {
  return detail == Detail::kStep ? std::to_string(row["step"].get<int64_t>())
                                 : row["layer"].get<std::string>();
}

constexpr std::array kColumns = {
    Column{"bytes", [](const Row& row) { return Count(row["message_bytes"]); }, 11},
    Column{"no header", [](const Row& row) { return Count(row["payload_bytes"]); }, 11},
    Column{"element", [](const Row& row) { return Ratio(row["element_ratio"]); }, 9},
    Column{"payload", [](const Row& row) { return Ratio(row["payload_ratio"]); }, 9},
    Column{"traffic", [](const Row& row) { return Ratio(row["traffic_ratio"]); }, 9},
    Column{"error", [](const Row& row) { return Short(row["relative_error"]); }, 10},
    Column{"gain", [](const Row& row) { return Short(row["gain"]); }, 8},
    Column{"of mean", [](const Row& row) { return Short(row["mean_relative_error"]); }, 10},
    Column{"encode", [](const Row& row) { return Time(row["measured_encode_seconds"]); }, 11},
    Column{
        "GB/s",
        [](const Row& row) { return GigabytesPerSecond(row["measured_encode_bytes_per_second"]); },
        7},
    Column{"decode", [](const Row& row) { return Time(row["measured_decode_seconds"]); }, 11},
    Column{
        "GB/s",
        [](const Row& row) { return GigabytesPerSecond(row["measured_decode_bytes_per_second"]); },
        7}};

}  // namespace

Detail ParseDetail(const std::string& text, const std::string& key) {
  return ParseChoice<Detail>(text, key, std::array{"codec", "step", "layer"});
}

std::vector<Row> ReportRows(const CodecResult& result, const RunOptions& options, int workers,
                            Detail detail) {
  std::vector<Row> rows;
  for (const auto& group : Groups(result, detail)) {
    std::set<int64_t> steps;
    for (const CodecRecord* record : group) steps.insert(record->step);
    const auto count = static_cast<double>(steps.size());
    const CodecRecord sum = Sum(group);
    const bool named = !result.parameter.name.empty();
    Row row = {{"codec", result.codec.scheme},
               {"parameter_name", result.parameter.name},
               {"parameter", named && sum.elements > 0 ? Row(sum.parameter) : Row()},
               {"error_feedback", result.error_feedback},
               {"policy", options.policy},
               {"workers", workers},
               {"steps", steps.size()},
               {"step", detail == Detail::kStep ? Row(*steps.begin()) : Row()},
               {"layer", detail == Detail::kLayer ? Row(group.front()->layer) : Row()}};
    row.update(VolumeOf(sum, workers, count));
    row.update(LossOf(sum));
    row.update(TimesOf(sum, count));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ReportTable(const std::vector<Row>& rows, Detail detail) {
  size_t name_width = 5;
  size_t place_width = 5;
  for (const Row& row : rows) {
    name_width = std::max(name_width, NameOf(row).size());
    if (detail != Detail::kCodec) place_width = std::max(place_width, PlaceOf(row, detail).size());
  }
  std::string text = fmt::format("{:{}}", "codec", name_width);
  if (detail != Detail::kCodec) {
    text += fmt::format("  {:{}}", detail == Detail::kStep ? "step" : "layer", place_width);
  }
  for (const Column& column : kColumns) text += fmt::format(" {:>{}}", column.name, column.width);
  text += "\n";
  for (const Row& row : rows) {
    text += fmt::format("{:{}}", NameOf(row), name_width);
    if (detail != Detail::kCodec) text += fmt::format("  {:{}}", PlaceOf(row, detail), place_width);
    for (const Column& column : kColumns) {
      text += fmt::format(" {:>{}}", column.text(row), column.width);
    }
    text += "\n";
  }
  return text;
}

}  // namespace legacy
