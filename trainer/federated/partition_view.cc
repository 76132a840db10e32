#include "trainer/federated/partition_view.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"

namespace legacy {

PartitionView ViewPartition(const Partition& partition, const SampleLabels& data) {
  PartitionView view;
  view.clients = partition.Clients();
  const auto classes = static_cast<size_t>(data.classes);
  std::vector<double> whole(classes);
  for (const int32_t label : data.labels) whole[label] += 1.0 / static_cast<double>(data.samples);
  std::vector<bool> taken(static_cast<size_t>(data.samples));
  for (int64_t client = 0; client < view.clients; ++client) {
    const std::vector<int64_t> samples = partition.SamplesOf(client);
    view.sizes.push_back(std::ssize(samples));
    view.samples += view.sizes.back();
    std::vector<int64_t> counts(classes);
    for (const int64_t sample : samples) {
      taken[sample] = true;
      if (classes > 0) ++counts[data.labels[sample]];
    }
    const bool empty = samples.empty();
    view.without += empty ? 1 : 0;
    if (classes == 0) continue;
    double distance = 0;
    for (size_t k = 0; k < classes && !empty; ++k) {
      if (counts[k] > 0) view.labels += 1;
      const double share = static_cast<double>(counts[k]) / static_cast<double>(view.sizes.back());
      distance += std::abs(share - whole[k]) / 2;
    }
    view.distance += distance;
    view.distances.push_back(distance);
    view.counts.push_back(std::move(counts));
  }
  const auto holders = static_cast<double>(std::max<int64_t>(1, view.clients - view.without));
  view.labels /= holders;
  view.distance /= holders;
  view.left_out = std::ranges::count(taken, false);
  std::vector<int64_t> sizes = view.sizes;
  std::ranges::sort(sizes);
  const size_t half = sizes.size() / 2;
  view.least = sizes.front();
  view.most = sizes.back();
  view.median = sizes.size() % 2 == 1 ? static_cast<double>(sizes[half])
                                      : static_cast<double>(sizes[half - 1] + sizes[half]) / 2;
  return view;
}

std::string PartitionCsv(const PartitionView& view) {
  std::string text = "client,samples";
  const auto add = [&](const char* separator, const std::string& value) {
    text += separator;
    text += value;
  };
  if (!view.counts.empty()) {
    text += ",distance";
    for (size_t k = 0; k < view.counts.front().size(); ++k) add(",label_", std::to_string(k));
  }
  for (size_t client = 0; client < view.sizes.size(); ++client) {
    add("\n", std::to_string(client));
    add(",", std::to_string(view.sizes[client]));
    if (view.counts.empty()) continue;
    add(",", FormatNumber(view.distances[client]));
    for (const int64_t count : view.counts[client]) add(",", std::to_string(count));
  }
  return text + "\n";
}

}  // namespace legacy
