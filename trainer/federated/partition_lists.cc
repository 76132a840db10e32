#include "trainer/federated/partition_lists.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/error.h"

namespace legacy::partitions {
namespace {

class Kept : public Partition {
 public:
  explicit Kept(const Lists& lists) : ends_{0} {
    for (const std::vector<int64_t>& list : lists) {
      for (const int64_t sample : list) samples_.push_back(static_cast<uint32_t>(sample));
      ends_.push_back(samples_.size());
      holders_ += list.empty() ? 0 : 1;
    }
  }

  int64_t Clients() const override { return std::ssize(ends_) - 1; }
  int64_t Holders() const override { return holders_; }
  int64_t SizeOf(int64_t client) const override {
    return static_cast<int64_t>(ends_[client + 1] - ends_[client]);
  }
  std::vector<int64_t> SamplesOf(int64_t client) const override {
    const auto first = samples_.begin();
    return {first + static_cast<ptrdiff_t>(ends_[client]),
            first + static_cast<ptrdiff_t>(ends_[client + 1])};
  }

 private:
  std::vector<uint32_t> samples_;
  std::vector<size_t> ends_;
  int64_t holders_ = 0;
};

// Each client draws its samples when they are requested.
class Drawn : public Partition {
 public:
  Drawn(int64_t clients, int64_t size, int64_t samples, uint64_t seed)
      : clients_(clients), size_(size), samples_(samples), seed_(seed) {}

  int64_t Clients() const override { return clients_; }
  int64_t Holders() const override { return clients_; }
  int64_t SizeOf(int64_t) const override { return size_; }
  std::vector<int64_t> SamplesOf(int64_t client) const override {
    RandomStream random = Draws(seed_, 0, client);
    std::vector<int64_t> samples(static_cast<size_t>(size_));
    for (int64_t& sample : samples) sample = random.Below(static_cast<uint32_t>(samples_));
    return samples;
  }

 private:
  int64_t clients_, size_, samples_;
  uint64_t seed_;
};

}  // namespace

Made Keep(Lists lists) { return std::make_unique<Kept>(lists); }

Made DrawEach(int64_t clients, int64_t size, int64_t samples, uint64_t seed) {
  return std::make_unique<Drawn>(clients, size, samples, seed);
}

std::vector<int64_t> Counting(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Lists ByClass(const SampleLabels& data, const std::string& rule) {
  if (data.classes == 0) {
    throw Error("partition", rule, "iid, quantity, natural or groups, as the data have no classes");
  }
  Lists samples(static_cast<size_t>(data.classes));
  for (int64_t i = 0; i < data.samples; ++i) samples[data.labels[i]].push_back(i);
  return samples;
}

std::vector<int64_t> EvenSizes(int64_t total, int64_t parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), total / parts);
  for (int64_t i = 0; i < total % parts; ++i) ++sizes[i];
  return sizes;
}

std::vector<int64_t> CutSizes(const std::vector<double>& shares, int64_t total) {
  std::vector<int64_t> sizes;
  double cumulated = 0;
  int64_t before = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    cumulated += shares[i];
    const int64_t cut =
        i + 1 == shares.size()
            ? total
            : std::min(total, static_cast<int64_t>(cumulated * static_cast<double>(total)));
    sizes.push_back(cut - before);
    before = cut;
  }
  return sizes;
}

void Deal(const std::vector<int64_t>& from, const std::vector<int64_t>& sizes, Lists& to) {
  auto next = from.begin();
  for (size_t i = 0; i < sizes.size(); ++i) {
    to[i].insert(to[i].end(), next, next + sizes[i]);
    next += sizes[i];
  }
}

}  // namespace legacy::partitions
