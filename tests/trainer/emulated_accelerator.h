// A device that is the host: LibTorch's tensors are there, our kernels run block by block, and what is recorded runs
// again. So all of what a training does on a GPU runs, and is tested, without one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compress/cuda/host_operations.h"
#include "compress/error.h"
#include "trainer/accelerator.h"
#include "trainer/cuda/step_kernels_on.h"

namespace legacy::test {

// The exchanges of the host behind the contract of those on a device.
class HostExchanges : public DeviceExchange {
 public:
  HostExchanges(const Scheme& scheme, std::span<const Unit> units, int workers)
      : units_(units.begin(), units.end()), workers_(workers), open_(units.size()) {
    for (size_t u = 0; u < units_.size(); ++u) {
      open_[u].exchange = scheme.Open(units_[u], workers);
      open_[u].messages.resize(workers);
    }
  }

  void Begin(const DeviceStep& step) override {
    participants_ = step.participants;
    for (int w = 0; participants_.empty() && w < workers_; ++w) all_.push_back(w);
    if (participants_.empty()) participants_ = all_;
    all_.clear();
    failure_.clear();
    for (size_t u = 0; u < units_.size(); ++u) {
      open_[u].rounds.clear();
      StepContext context{.seed = step.seed,
                          .step = step.step,
                          .parameter = step.parameters[u],
                          .participants = step.participants};
      open_[u].exchange->Begin(context);
      OpenRound(open_[u]);
    }
  }
  void Encode(int worker, const float* gradient) override {
    for (size_t u = 0; u < units_.size(); ++u) {
      const Unit& place = units_[u];
      EncodeOne(u, worker, {gradient + place.offset, static_cast<size_t>(place.numel)});
    }
  }
  void Finish(float* mean) override {
    if (!failure_.empty()) throw Error(failure_);
    for (size_t u = 0; u < units_.size(); ++u) {
      Open& unit = open_[u];
      while (unit.open) {
        for (const int w : participants_) {
          unit.rounds.back().bytes[w] = unit.messages[w].size();
          unit.exchange->Accumulate(w, unit.messages[w].bytes);
        }
        unit.exchange->FinishRound();
        OpenRound(unit);
        for (const int w : participants_) {
          if (unit.open) unit.messages[w] = unit.exchange->Encode(w, {});
        }
      }
      unit.exchange->Mean({mean + units_[u].offset, static_cast<size_t>(units_[u].numel)});
    }
  }
  std::vector<Travelled> Rounds(int unit) const override { return open_[unit].rounds; }
  int64_t ElementsSent(int unit) const override { return open_[unit].exchange->ElementsSent(); }
  Bytes CopyMessage(int unit, int worker) const override {
    return open_[unit].messages[worker].bytes;
  }
  void RescaleResiduals(float factor) override {
    for (Open& unit : open_) unit.exchange->RescaleResiduals(factor);
  }
  std::vector<float> CopyResidual(int unit, int worker) const override {
    const auto residual = open_[unit].exchange->Residual(worker);
    return {residual.begin(), residual.end()};
  }

 private:
  struct Open {
    std::unique_ptr<Exchange> exchange;
    bool open = false;
    std::vector<Message> messages;
    std::vector<Travelled> rounds;
  };

  void OpenRound(Open& unit) {
    const std::optional<Round> round = unit.exchange->NextRound();
    unit.open = round.has_value();
    if (round) unit.rounds.push_back({*round, std::vector<int64_t>(workers_)});
  }
  // What is wrong with a gradient is said at the end.
  void EncodeOne(size_t u, int worker, std::span<const float> part) {
    try {
      if (open_[u].open) open_[u].messages[worker] = open_[u].exchange->Encode(worker, part);
    } catch (const Error& error) {
      failure_ =
          "worker " + std::to_string(worker) + ", unit '" + units_[u].name + "': " + error.what();
    }
  }

  std::vector<Unit> units_;
  int workers_;
  std::vector<int> participants_, all_;
  std::string failure_;
  std::vector<Open> open_;
};

class EmulatedAccelerator : public Accelerator {
 public:
  torch::Device device() const override { return torch::kCPU; }
  std::string Name() const override { return "emulated"; }
  void Use() override { ++uses; }
  std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) override {
    return std::make_unique<StepKernelsOn<cuda::HostDevice>>(
        cuda::HostDevice(cuda::Order::kScattered), layers);
  }
  std::unique_ptr<DeviceExchange> OpenExchange(const Scheme& scheme, std::span<const Unit> units,
                                               int workers, std::string* why) override {
    if (scheme.Name() != without_kernels) {
      return std::make_unique<HostExchanges>(scheme, units, workers);
    }
    *why = "scheme " + without_kernels + " has no kernels";
    return nullptr;
  }
  std::function<void()> Record(const std::function<void()>& work, std::string* why) override {
    *why = "not today";
    if (!records) return nullptr;
    ++recordings;
    return work;
  }
  std::string RecordName() const override { return "a recording"; }

  std::string without_kernels;
  bool records = true;
  int recordings = 0;
  int uses = 0;
};

}  // namespace legacy::test
