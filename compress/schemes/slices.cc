#include "compress/schemes/slices.h"

#include <utility>

#include "base/hash.h"
#include "base/state.h"
#include "compress/checks.h"

namespace legacy {
namespace {

void Append(std::span<const float> values, std::vector<float>& all) {
  all.insert(all.end(), values.begin(), values.end());
}

}  // namespace

SlicesExchange::SlicesExchange(const Scheme& scheme, const Unit& unit, std::vector<Unit> slices,
                               int workers)
    : SlicesExchange(std::vector<std::unique_ptr<Exchange>>(), unit, std::move(slices), workers) {
  for (const Unit& slice : slices_) exchanges_.push_back(scheme.Open(slice, workers));
}

SlicesExchange::SlicesExchange(std::vector<std::unique_ptr<Exchange>> exchanges, const Unit& unit,
                               std::vector<Unit> slices, int workers)
    : slices_(std::move(slices)),
      begin_(unit.offset),
      exchanges_(std::move(exchanges)),
      open_(slices_.size()),
      lengths_(static_cast<size_t>(workers), std::vector<int64_t>(slices_.size())),
      residuals_(static_cast<size_t>(workers)) {}

// Returns the part of the unit's values that belongs to a slice; none of no values.
template <class Value>
std::span<Value> SlicesExchange::Of(size_t slice, std::span<Value> values) const {
  if (values.empty()) return values;
  return values.subspan(static_cast<size_t>(slices_[slice].offset - begin_),
                        static_cast<size_t>(slices_[slice].numel));
}

void SlicesExchange::Begin(const UnitStep& context) {
  for (size_t s = 0; s < slices_.size(); ++s) {
    UnitStep step = context;
    if (s > 0) step.info.seed = HashWords({context.info.seed, s});
    exchanges_[s]->Begin(step);
  }
}

Probe SlicesExchange::Measure(int worker, std::span<const float> gradient) {
  Probe all;
  for (size_t s = 0; s < slices_.size(); ++s) {
    const Probe probe = exchanges_[s]->Measure(worker, Of(s, gradient));
    all.squared += probe.squared;
    all.kept.resize(probe.kept.size());
    for (size_t c = 0; c < probe.kept.size(); ++c) all.kept[c] += probe.kept[c];
  }
  return all;
}

void SlicesExchange::Choose(size_t index) {
  for (const auto& exchange : exchanges_) exchange->Choose(index);
}

std::span<const std::optional<CollectiveCall>> SlicesExchange::OpenCalls() {
  for (size_t s = 0; s < slices_.size(); ++s) open_[s] = exchanges_[s]->NextCall();
  return open_;
}

Message SlicesExchange::Encode(int worker, std::span<const float> gradient) {
  Message all;
  for (size_t s = 0; s < slices_.size(); ++s) {
    int64_t& length = lengths_[static_cast<size_t>(worker)][s];
    length = 0;
    if (!open_[s]) continue;
    const Message message = exchanges_[s]->Encode(worker, Of(s, gradient));
    all.bytes.insert(all.bytes.end(), message.bytes.begin(), message.bytes.end());
    length = message.size();
  }
  return all;
}

void SlicesExchange::Accumulate(int worker, ByteSpan message) {
  int64_t sum = 0;
  for (const int64_t length : Lengths(worker)) sum += length;
  CheckLength(message, sum);
  for (size_t s = 0; s < slices_.size(); ++s) {
    if (!open_[s]) continue;
    const auto length = static_cast<size_t>(Lengths(worker)[s]);
    exchanges_[s]->Accumulate(worker, message.first(length));
    message = message.subspan(length);
  }
}

void SlicesExchange::WriteNotes(int worker, StateWriter& out) const {
  for (const int64_t length : Lengths(worker)) out.Number(static_cast<uint64_t>(length));
  for (const auto& exchange : exchanges_) exchange->WriteNotes(worker, out);
}

void SlicesExchange::ReadNotes(int worker, StateReader& in) {
  for (int64_t& length : lengths_[static_cast<size_t>(worker)]) {
    length = static_cast<int64_t>(in.Number("bytes of a slice", INT64_MAX));
  }
  for (const auto& exchange : exchanges_) exchange->ReadNotes(worker, in);
}

void SlicesExchange::FinishCall() {
  averaged_.clear();
  fed_.clear();
  for (size_t s = 0; s < slices_.size(); ++s) {
    if (open_[s]) exchanges_[s]->FinishCall();
    Append(exchanges_[s]->Averaged(), averaged_);
    Append(exchanges_[s]->AveragedFed(), fed_);
  }
}

void SlicesExchange::Mean(std::span<float> out) const {
  for (size_t s = 0; s < slices_.size(); ++s) exchanges_[s]->Mean(Of(s, out));
}

int64_t SlicesExchange::ElementsSent() const {
  int64_t sent = 0;
  for (const auto& exchange : exchanges_) sent += exchange->ElementsSent();
  return sent;
}

void SlicesExchange::RescaleResiduals(float factor) {
  for (const auto& exchange : exchanges_) exchange->RescaleResiduals(factor);
}

std::span<const float> SlicesExchange::Residual(int worker) const {
  std::vector<float>& residual = residuals_[static_cast<size_t>(worker)];
  residual.clear();
  for (const auto& exchange : exchanges_) Append(exchange->Residual(worker), residual);
  return residual;
}

std::vector<float> SlicesExchange::ErrorFed(int worker, std::span<const float> gradient) const {
  std::vector<float> fed;
  for (size_t s = 0; s < slices_.size(); ++s) {
    Append(exchanges_[s]->ErrorFed(worker, Of(s, gradient)), fed);
  }
  return fed;
}

Bytes SlicesExchange::Save() const {
  StateWriter out;
  for (const auto& exchange : exchanges_) out.Blob(exchange->Save());
  return out.Take();
}

void SlicesExchange::Load(ByteSpan state) {
  StateReader in(state);
  std::vector<ByteSpan> slices(slices_.size());
  for (ByteSpan& slice : slices) slice = in.Blob();
  in.ExpectEnd();
  for (size_t s = 0; s < slices.size(); ++s) exchanges_[s]->Load(slices[s]);
}

void SlicesExchange::SaveShared(StateWriter& out) const {
  for (const auto& exchange : exchanges_) exchange->SaveShared(out);
}

void SlicesExchange::LoadShared(StateReader& in) {
  for (const auto& exchange : exchanges_) exchange->LoadShared(in);
}

void SlicesExchange::SaveWorker(int worker, StateWriter& out) const {
  for (const auto& exchange : exchanges_) exchange->SaveWorker(worker, out);
}

void SlicesExchange::LoadWorker(int worker, StateReader& in) {
  for (const auto& exchange : exchanges_) exchange->LoadWorker(worker, in);
}

std::span<const float> ValuesOf(const Unit& slice, const Unit& unit,
                                std::span<const float> values) {
  return values.subspan(static_cast<size_t>(slice.offset - unit.offset),
                        static_cast<size_t>(slice.numel));
}

int64_t SlicedScheme::ElementsSent(const Unit& unit, double parameter) const {
  int64_t sent = 0;
  for (const Unit& slice : SlicesOf(unit)) sent += Serving(unit).ElementsSent(slice, parameter);
  return sent;
}

std::vector<double> SlicedScheme::SquaredErrors(const Unit& unit, std::span<const float> values,
                                                std::span<const double> parameters,
                                                const RandomKey& random) const {
  std::vector<double> errors(parameters.size());
  for (const Unit& slice : SlicesOf(unit)) {
    const std::vector<double> own =
        Serving(unit).SquaredErrors(slice, ValuesOf(slice, unit, values), parameters, random);
    for (size_t i = 0; i < errors.size(); ++i) errors[i] += own[i];
  }
  return errors;
}

WorkList SlicedScheme::ErrorWork(const Unit& unit, std::span<const double> parameters) const {
  WorkList work;
  for (const Unit& slice : SlicesOf(unit)) {
    JoinWork(Serving(unit).ErrorWork(slice, parameters), work);
  }
  return work;
}

}  // namespace legacy
