#include "compress/schemes/owners/owned_nodes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/state.h"
#include "compress/checks.h"
#include "compress/schemes/owners/owned_scheme.h"
#include "compress/schemes/slices.h"

namespace legacy {
namespace {

// A NodePlan has the planned calls of both exchanges of a unit.
struct NodePlan {
  std::vector<PlannedCall> inner, outer;  // by slice

  // Returns the bytes that each worker of a copy gets of one of its node: the messages of all
  // slices whose owners have its position.
  std::vector<int64_t> InnerBytes(const Cut& cut) const {
    std::vector<int64_t> at(static_cast<size_t>(cut.node)), bytes;
    for (size_t j = 0; j < inner.size(); ++j) at[j % at.size()] += inner[j].bytes;
    for (int j = 0; j < cut.owners; ++j) bytes.push_back(at[static_cast<size_t>(j) % at.size()]);
    return bytes;
  }
  std::vector<int64_t> OuterBytes(const Cut& cut) const {
    std::vector<int64_t> bytes;
    for (const PlannedCall& call : outer) bytes.push_back(call.bytes);
    bytes.resize(static_cast<size_t>(cut.owners));
    return bytes;
  }
  int64_t InnerSum() const {
    int64_t sum = 0;
    for (const PlannedCall& call : inner) sum += call.bytes;
    return sum;
  }
  // Returns the bytes that a worker of position p sends across nodes.
  int64_t OuterSum(const Cut& cut, int position) const {
    int64_t sum = 0;
    for (size_t j = static_cast<size_t>(position); j < outer.size();
         j += static_cast<size_t>(cut.node)) {
      sum += outer[j].bytes;
    }
    return sum;
  }
};

NodePlan PlanOf(const Scheme& scheme, const Cut& cut, std::span<const Unit> slices,
                double parameter, int nodes) {
  NodePlan plan;
  const double inside = cut.inner > 0 ? cut.inner : parameter;
  for (const Unit& slice : slices) {
    plan.inner.push_back(scheme.Plan(slice, inside, cut.node).value().front());
    plan.outer.push_back(scheme.Plan(slice, parameter, nodes).value().front());
  }
  return plan;
}

// Returns the call inside nodes: every worker encodes all slices, and decodes those of its
// position.
CollectiveCall InnerCall(const Cut& cut, const NodePlan& plan) {
  CollectiveCall all{.reduction = Reduction::kOwned, .collective = Collective::kAllToAll};
  all.owned = {
      .owners = cut.owners, .rows = cut.by_rows, .group = cut.node, .bytes = plan.InnerBytes(cut)};
  for (size_t j = 0; j < plan.inner.size(); ++j) {
    JoinWork(plan.inner[j].call.encode, all.encode);
    if (j % static_cast<size_t>(cut.node) == 0) JoinWork(plan.inner[j].call.decode, all.decode);
  }
  return all;
}

// Returns the call across nodes: every worker encodes the slices of its position, and decodes its
// own.
CollectiveCall OuterCall(const Cut& cut, const NodePlan& plan) {
  CollectiveCall all{.reduction = Reduction::kOwned, .collective = Collective::kAllToAll};
  all.owned = {.owners = cut.owners,
               .rows = cut.by_rows,
               .group = cut.owners / cut.node,
               .stride = cut.node,
               .bytes = plan.OuterBytes(cut)};
  for (size_t j = 0; j < plan.outer.size(); j += static_cast<size_t>(cut.node)) {
    JoinWork(plan.outer[j].call.encode, all.encode);
  }
  all.decode = plan.outer.front().call.decode;
  return all;
}

class OwnedNodesExchange : public Exchange {
 public:
  OwnedNodesExchange(std::shared_ptr<const Scheme> scheme, const Unit& unit, const Cut& cut,
                     int workers)
      : scheme_(std::move(scheme)),
        unit_(unit),
        cut_(cut),
        slices_(CutUnit(unit, cut)),
        nodes_(workers / cut.node),
        residuals_(static_cast<size_t>(workers)) {
    for (const Unit& slice : slices_) {
      for (int n = 0; n < nodes_; ++n) inner_.push_back(scheme_->Open(slice, cut.node));
      outer_.push_back(scheme_->Open(slice, nodes_));
      means_.emplace_back(static_cast<size_t>(nodes_),
                          std::vector<float>(static_cast<size_t>(slice.numel)));
    }
  }

  void Begin(const UnitStep& context) override {
    if (!context.candidates.empty()) Exchange::Choose(0);  // throws
    if (!context.info.active_workers.empty() &&
        std::ssize(context.info.active_workers) != nodes_ * cut_.node) {
      throw Error("owners of slices", "steps without some workers", "all, with nodes");
    }
    for (size_t s = 0; s < slices_.size(); ++s) {
      UnitStep step = context;
      step.info.active_workers.clear();
      for (int n = 0; n < nodes_; ++n) {
        // Each node draws for itself.
        step.info.seed = HashWords({context.info.seed, s, static_cast<uint64_t>(n) + 1});
        step.parameter = cut_.inner > 0 ? cut_.inner : context.parameter;
        Inner(s, n).Begin(step);
      }
      step.info.seed = HashWords({context.info.seed, s});
      step.parameter = context.parameter;
      outer_[s]->Begin(step);
    }
    plan_ = PlanOf(*scheme_, cut_, slices_, context.parameter, nodes_);
    call_ = 0;
  }

  std::optional<CollectiveCall> NextCall() override {
    if (call_ == 2) return std::nullopt;
    for (size_t s = 0; s < slices_.size(); ++s) {
      for (int n = 0; n < nodes_ && call_ == 0; ++n) Inner(s, n).NextCall();
      if (call_ == 1) outer_[s]->NextCall();
    }
    return call_ == 0 ? InnerCall(cut_, plan_) : OuterCall(cut_, plan_);
  }

  // Inside a node messages are in the order of positions, and of slices.
  Message Encode(int worker, std::span<const float> gradient) override {
    Message all;
    const auto append = [&](const Message& message) {
      all.bytes.insert(all.bytes.end(), message.bytes.begin(), message.bytes.end());
    };
    const int node = worker / cut_.node, position = worker % cut_.node;
    if (call_ == 0) {
      ForPositions([&](size_t s) {
        append(Inner(s, node).Encode(position, ValuesOf(slices_[s], unit_, gradient)));
      });
    } else {
      ForSlicesAt(position, [&](size_t s) { append(outer_[s]->Encode(node, Mean(s, node))); });
    }
    return all;
  }

  void Accumulate(int worker, ByteSpan message) override {
    const int node = worker / cut_.node, position = worker % cut_.node;
    CheckLength(message, call_ == 0 ? plan_.InnerSum() : plan_.OuterSum(cut_, position));
    const auto take = [&](const PlannedCall& planned) {
      const ByteSpan part = message.first(static_cast<size_t>(planned.bytes));
      message = message.subspan(part.size());
      return part;
    };
    if (call_ == 0) {
      ForPositions([&](size_t s) { Inner(s, node).Accumulate(position, take(plan_.inner[s])); });
    } else {
      ForSlicesAt(position, [&](size_t s) { outer_[s]->Accumulate(node, take(plan_.outer[s])); });
    }
  }

  void FinishCall() override {
    for (size_t s = 0; s < slices_.size(); ++s) {
      for (int n = 0; n < nodes_ && call_ == 0; ++n) {
        Inner(s, n).FinishCall();
        Inner(s, n).Mean(Mean(s, n));
      }
      if (call_ == 1) outer_[s]->FinishCall();
    }
    ++call_;
  }

  void Mean(std::span<float> out) const override {
    for (size_t s = 0; s < slices_.size(); ++s) {
      outer_[s]->Mean(out.subspan(static_cast<size_t>(slices_[s].offset - unit_.offset),
                                  static_cast<size_t>(slices_[s].numel)));
    }
  }
  // Returns the values inside a node, and those across nodes as the mean over the workers.
  int64_t ElementsSent() const override {
    int64_t inside = 0, across = 0;
    for (size_t s = 0; s < slices_.size(); ++s) {
      inside += inner_[s * static_cast<size_t>(nodes_)]->ElementsSent();
      across += outer_[s]->ElementsSent();
    }
    return inside + across / cut_.node;
  }
  void RescaleResiduals(float factor) override {
    ForAll([&](Exchange& exchange) { exchange.RescaleResiduals(factor); });
  }
  // Returns residuals, and ErrorFed returns gradients, of the exchanges inside nodes.
  std::span<const float> Residual(int worker) const override {
    std::vector<float>& residual = residuals_[static_cast<size_t>(worker)];
    residual.clear();
    for (size_t s = 0; s < slices_.size(); ++s) {
      const auto own = Inner(s, worker / cut_.node).Residual(worker % cut_.node);
      residual.insert(residual.end(), own.begin(), own.end());
    }
    return residual;
  }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    std::vector<float> all;
    for (size_t s = 0; s < slices_.size(); ++s) {
      const std::vector<float> fed =
          Inner(s, worker / cut_.node)
              .ErrorFed(worker % cut_.node, ValuesOf(slices_[s], unit_, gradient));
      all.insert(all.end(), fed.begin(), fed.end());
    }
    return all;
  }
  Bytes Save() const override {
    StateWriter out;
    ForAll([&](const Exchange& exchange) { out.Blob(exchange.Save()); });
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    std::vector<ByteSpan> parts;
    ForAll([&](const Exchange&) { parts.push_back(in.Blob()); });
    in.ExpectEnd();
    size_t part = 0;
    ForAll([&](Exchange& exchange) { exchange.Load(parts[part++]); });
  }
  // The state of an exchange across nodes belongs to the workers with its position in their nodes.
  void SaveWorker(int worker, StateWriter& out) const override {
    const int node = worker / cut_.node, position = worker % cut_.node;
    for (size_t s = 0; s < slices_.size(); ++s) Inner(s, node).SaveWorker(position, out);
    ForSlicesAt(position, [&](size_t s) { outer_[s]->SaveWorker(node, out); });
  }
  void LoadWorker(int worker, StateReader& in) override {
    const int node = worker / cut_.node, position = worker % cut_.node;
    for (size_t s = 0; s < slices_.size(); ++s) Inner(s, node).LoadWorker(position, in);
    ForSlicesAt(position, [&](size_t s) { outer_[s]->LoadWorker(node, in); });
  }
  void SaveShared(StateWriter& out) const override {
    ForAll([&](const Exchange& exchange) { exchange.SaveShared(out); });
  }
  void LoadShared(StateReader& in) override {
    ForAll([&](Exchange& exchange) { exchange.LoadShared(in); });
  }

 private:
  Exchange& Inner(size_t slice, int node) const {
    return *inner_[slice * static_cast<size_t>(nodes_) + static_cast<size_t>(node)];
  }
  std::span<float> Mean(size_t slice, int node) { return means_[slice][static_cast<size_t>(node)]; }
  // Calls body(slice) for the slices whose owners have that position, in their order.
  template <class Body>
  void ForSlicesAt(int position, const Body& body) const {
    for (size_t s = static_cast<size_t>(position); s < slices_.size();
         s += static_cast<size_t>(cut_.node)) {
      body(s);
    }
  }
  template <class Body>
  void ForPositions(const Body& body) const {
    for (int position = 0; position < cut_.node; ++position) ForSlicesAt(position, body);
  }
  template <class Body>
  void ForAll(const Body& body) const {
    for (const auto& exchange : inner_) body(*exchange);
    for (const auto& exchange : outer_) body(*exchange);
  }

  std::shared_ptr<const Scheme> scheme_;
  Unit unit_;
  Cut cut_;
  std::vector<Unit> slices_;
  int nodes_;
  std::vector<std::unique_ptr<Exchange>> inner_;        // by slice and node, among its workers
  std::vector<std::unique_ptr<Exchange>> outer_;        // by slice, among nodes
  std::vector<std::vector<std::vector<float>>> means_;  // by slice and node
  NodePlan plan_;                                       // of the step
  int call_ = 2;                                        // number of the next call
  mutable std::vector<std::vector<float>> residuals_;   // by worker, as they were last asked for
};

// A worker errs in both exchanges; SquaredErrors estimates the errors of messages across nodes.
class OwnedNodesScheme : public OwnedScheme {
 public:
  using OwnedScheme::OwnedScheme;

  SchemeTraits Traits() const override {
    SchemeTraits traits = OwnedScheme::Traits();
    traits.takes_candidates = false;
    return traits;
  }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    const double inside = cut().inner > 0 ? cut().inner : parameter;
    return OwnedScheme::ElementsSent(unit, inside) +
           OwnedScheme::ElementsSent(unit, parameter) / cut().node;
  }
  // Workers send other slices across nodes: their bytes are the mean over the workers.
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    const auto plan = Plan(unit, parameter, 2 * cut().node);
    int64_t sum = 0;
    for (const PlannedCall& call : *plan) sum += call.bytes;
    return sum;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    const int nodes = std::max(1, active_workers / cut().node);
    const NodePlan plan = PlanOf(*scheme(), cut(), SlicesOf(unit), parameter, nodes);
    int64_t across = 0;
    for (int position = 0; position < cut().node; ++position) {
      across += plan.OuterSum(cut(), position);
    }
    return std::vector<PlannedCall>{{InnerCall(cut(), plan), plan.InnerSum()},
                                    {OuterCall(cut(), plan), across / cut().node}};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    // One worker stands for a node.
    const int all = std::max(workers, cut().node);
    if (all % cut().node != 0) {
      throw Error("option node of " + std::string(Name()), std::to_string(cut().node),
                  "a divisor of the " + std::to_string(workers) + " workers");
    }
    return std::make_unique<OwnedNodesExchange>(scheme(), unit, cut(), all);
  }
};

}  // namespace

std::unique_ptr<Scheme> WithNodes(std::shared_ptr<const Scheme> scheme, const Cut& cut) {
  return std::make_unique<OwnedNodesScheme>(std::move(scheme), cut);
}

}  // namespace legacy
