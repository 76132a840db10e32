#include "compress/schemes/sparse/entries.h"

namespace legacy {

ExtendedHeader EntriesHeader(const Unit& unit, int call, int64_t count, bool positions) {
  return {
      .header = {.index = positions ? ShortestIndexCoding(unit.numel, count) : IndexCoding::kNone,
                 .unit = unit.id,
                 .numel = static_cast<uint32_t>(unit.numel),
                 .count = static_cast<uint32_t>(count)},
      .method = ExtendedMethod::kOkTopk,
      .parameter = static_cast<uint16_t>(call)};
}

int64_t EntryBytes(const Unit& unit, int64_t count) {
  if (count == 0) return 0;
  return kExtendedHeaderBytes + int64_t{sizeof(float)} * count +
         IndexBytes(ShortestIndexCoding(unit.numel, count), unit.numel, count);
}

void AppendEntries(const Unit& unit, int call, const SparseEntries& entries, size_t from,
                   size_t count, Bytes& out) {
  count = std::min(count, entries.positions.size() - std::min(from, entries.positions.size()));
  if (count == 0) return;
  const ExtendedHeader header = EntriesHeader(unit, call, static_cast<int64_t>(count));
  WriteExtendedHeader(header, out);
  WriteIndices(header.header.index, unit.numel, std::span(entries.positions).subspan(from, count),
               out);
  AppendFloats(std::span(entries.values).subspan(from, count), out);
}

SparseEntries ReadEntries(const Unit& unit, int call, int64_t count, ByteSpan& rest) {
  SparseEntries entries;
  if (count == 0) return entries;
  const int64_t bytes = EntryBytes(unit, count);
  if (static_cast<int64_t>(rest.size()) < bytes) CheckLength(rest, bytes);
  const ExtendedHeader header = EntriesHeader(unit, call, count);
  ByteSpan payload =
      CheckedPayload(rest.first(static_cast<size_t>(bytes)), header, bytes - kExtendedHeaderBytes);
  entries.positions = ReadIndices(header.header.index, unit.numel, count, payload);
  CheckFiniteSegment(payload);
  for (int64_t i = 0; i < count; ++i) {
    entries.values.push_back(FloatAt(payload, static_cast<size_t>(i)));
    if (entries.values.back() == 0) throw Error("message: a value is 0");
  }
  rest = rest.subspan(static_cast<size_t>(bytes));
  return entries;
}

}  // namespace legacy
