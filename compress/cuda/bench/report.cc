#include "compress/cuda/bench/report.h"

#include <cmath>

#include "base/number.h"

namespace legacy::bench {
namespace {

// Significant digits of times; a measurement is no more precise.
constexpr int kDigits = 4;

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", kDigits, value);
  return text;
}

std::string Milliseconds(double seconds) { return seconds > 0 ? Rounded(1e3 * seconds) : "-"; }

std::string Percent(double share) {
  return share > 0 ? FormatNumber(std::round(1e6 * share) / 1e4) + "%" : "-";
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

// A JSON object with one member per line, or all in one line.
class Object {
 public:
  explicit Object(const char* between) : between_(between) {}
  Object& Raw(const char* key, const std::string& value) {
    text_ += (text_.empty() ? "" : between_) + Quoted(key) + ": " + value;
    return *this;
  }
  Object& Text(const char* key, const std::string& value) { return Raw(key, Quoted(value)); }
  Object& Number(const char* key, double value) { return Raw(key, FormatNumber(value)); }
  std::string Braced() const { return "{" + text_ + "}"; }

 private:
  std::string between_;
  std::string text_;
};

std::string ResultJson(const Measurement& m) {
  Object result(", ");
  result.Text("kernel", m.row->kernel);
  if (m.row->profile) {
    result.Text("profile", m.row->profile)
        .Number("profile_elements", static_cast<double>(m.row->profile_elements(m.of)));
  }
  result.Text("input", m.of.input)
      .Text("size", m.of.size)
      .Number("elements", static_cast<double>(m.of.elements()))
      .Number("vectors", static_cast<double>(m.of.lengths.size()));
  if (m.of.ratio > 0) result.Number("ratio", m.of.ratio);
  result.Number("bytes", m.bytes);
  if (!m.skipped.empty()) return result.Text("skipped", m.skipped).Braced();
  result.Number("seconds", m.seconds).Number("fastest_seconds", m.fastest_seconds);
  if (m.graph_seconds > 0) result.Number("graph_seconds", m.graph_seconds);
  return result.Number("copy_seconds", m.copy_seconds).Braced();
}

}  // namespace

void PrintHead(std::FILE* out) {
  std::fprintf(out, "%-26s %-9s %10s %6s %10s %10s %10s %8s %9s %10s\n", "kernel", "input", "size",
               "ratio", "ms", "graph ms", "copy ms", "GB/s", "% of copy", "bytes/elem");
}

void PrintRow(std::FILE* out, const Measurement& m) {
  std::fprintf(out, "%-26s %-9s %10s %6s ", m.row->kernel, m.of.input.c_str(), m.of.size.c_str(),
               Percent(m.of.ratio).c_str());
  if (!m.skipped.empty()) {
    std::fprintf(out, "skipped: %s\n", m.skipped.c_str());
    return;
  }
  std::fprintf(out, "%10s %10s %10s %8.0f %9.1f %10.2f\n", Milliseconds(m.seconds).c_str(),
               Milliseconds(m.graph_seconds).c_str(), Milliseconds(m.copy_seconds).c_str(),
               1e-9 * m.BytesPerSecond(), 100 * m.ShareOfCopy(),
               m.bytes / static_cast<double>(m.of.elements()));
}

void PrintPlanHead(std::FILE* out, double bandwidth) {
  std::fprintf(out, "%-26s %-9s %10s %6s %12s %10s   (at %g TB/s)\n", "kernel", "input", "size",
               "ratio", "bytes/elem", "ideal ms", 1e-12 * bandwidth);
}

void PrintPlanRow(std::FILE* out, const Row& row, const Case& of, double bandwidth) {
  const double bytes = row.bytes(of);
  std::fprintf(out, "%-26s %-9s %10s %6s %12.2f %10s\n", row.kernel, of.input.c_str(),
               of.size.c_str(), Percent(of.ratio).c_str(),
               bytes / static_cast<double>(of.elements()), Milliseconds(bytes / bandwidth).c_str());
}

std::string ToJson(const RunInfo& run, std::span<const Measurement> measurements) {
  Object device(", ");
  device.Text("name", run.device.name)
      .Text("driver", run.device.driver)
      .Text("cuda", run.device.cuda)
      .Number("multiprocessors", run.device.multiprocessors)
      .Number("memory_bytes", static_cast<double>(run.device.memory_bytes))
      .Number("cache_bytes", static_cast<double>(run.device.cache_bytes));
  std::string results;
  for (const Measurement& m : measurements) {
    results += (results.empty() ? "\n    " : ",\n    ") + ResultJson(m);
  }
  Object root(",\n  ");
  root.Text("program", "legacy-bench-gpu")
      .Text("command", run.command)
      .Text("date", run.date)
      .Raw("device", device.Braced())
      .Number("turns", run.options.turns)
      .Raw("results", "[" + results + "]");
  return root.Braced() + "\n";
}

}  // namespace legacy::bench
