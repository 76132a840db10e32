#include "trainer/federated/partition_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/files/csv_file.h"
#include "trainer/federated/dirichlet.h"

namespace legacy::partitions {
namespace {

constexpr double kLeastAlpha = 1e-6;
constexpr double kMostAlpha = 1e6;
constexpr int64_t kMostSamples = 1'000'000'000;
constexpr int kTries = 100;

// Throws Error if there are more clients than samples for them.
void CheckEnough(int64_t clients, int64_t samples) {
  if (clients > samples) {
    throw Error("clients", std::to_string(clients),
                "at most the " + std::to_string(samples) + " training samples");
  }
}

int64_t Least(const Lists& lists) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const auto& list : lists) least = std::min(least, std::ssize(list));
  return least;
}

// Returns the first of up to kTries drawn partitions in which every client has `least` samples.
// `draw(attempt)` draws one.
template <typename Draw>
Made FirstWith(int64_t least, const Draw& draw) {
  int64_t most = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Lists lists = draw(static_cast<uint64_t>(attempt));
    const int64_t reached = Least(lists);
    if (reached >= least) return Keep(std::move(lists));
    most = std::max(most, reached);
  }
  throw Error("partition: least", std::to_string(least),
              "at most " + std::to_string(most) +
                  ", the most that each client had in one of 100 draws (with 0 some have none); "
                  "fewer clients or a larger alpha leave more");
}

// Returns the most labels that a client can have.
int64_t MostLabels(const SampleLabels& data) {
  return data.classes > 0 ? data.classes : kMostSamples;
}

double Alpha(const OptionReader& options) {
  return options.Number("alpha", kLeastAlpha, kMostAlpha);
}

// Returns the position that a number in [0, 1) has in shares, which need not sum to 1.
size_t Pick(const std::vector<double>& shares, double uniform) {
  const double sum = std::reduce(shares.begin(), shares.end());
  double left = uniform * sum;
  size_t last = 0;
  for (size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] <= 0) continue;
    last = k;
    if ((left -= shares[k]) < 0) break;
  }
  return last;
}

// Returns the numbers of the labels that each client of `labels` has: label i modulo their number,
// and others that are drawn.
Lists DrawnLabels(int64_t clients, int64_t per_client, int64_t classes, uint64_t seed) {
  Lists labels;
  for (int64_t client = 0; client < clients; ++client) {
    std::vector<int64_t> others = Counting(classes);
    std::swap(others[0], others[client % classes]);
    RandomStream random = Draws(seed, 0, client);
    for (int64_t i = 1; i < per_client; ++i) {
      std::swap(others[i], others[i + random.Below(static_cast<uint32_t>(classes - i))]);
    }
    others.resize(static_cast<size_t>(per_client));
    labels.push_back(std::move(others));
  }
  return labels;
}

// Reads the lists of a file with the columns sample and client.
Lists ReadLists(const std::string& file, int64_t samples, int64_t clients) {
  CsvFile csv(file, "partition: file");
  const size_t sample_column = csv.Column("sample"), client_column = csv.Column("client");
  Lists lists(static_cast<size_t>(clients));
  std::vector<bool> given(static_cast<size_t>(samples));
  while (csv.Next()) {
    const int64_t sample = csv.Whole(sample_column, 0, samples - 1);
    if (given[sample]) {
      throw Error(csv.Where(sample_column), std::to_string(sample), "each sample once");
    }
    given[sample] = true;
    lists[csv.Whole(client_column, 0, clients - 1)].push_back(sample);
  }
  return lists;
}

}  // namespace

Made Iid(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed) {
  const int64_t size = options.Integer("samples", 0, kMostSamples);
  const bool replace = options.Switch("replace");
  if (data.samples == 0) return nullptr;
  if (replace) {
    return DrawEach(clients, size > 0 ? size : std::max<int64_t>(1, data.samples / clients),
                    data.samples, seed);
  }
  const int64_t used = size > 0 ? clients * size : data.samples;
  if (used > data.samples) {
    throw Error("partition: samples", std::to_string(size),
                "at most " + std::to_string(data.samples / clients) + " for " +
                    std::to_string(clients) + " clients, or replace=on");
  }
  CheckEnough(clients, data.samples);
  std::vector<int64_t> samples = Counting(data.samples);
  RandomStream random = Draws(seed, 0, kWhole);
  Shuffle(samples, random);
  Lists lists(static_cast<size_t>(clients));
  Deal(samples, EvenSizes(used, clients), lists);
  return Keep(std::move(lists));
}

Made DirichletByClass(const OptionReader& options, const SampleLabels& data, int64_t clients,
                      uint64_t seed) {
  const double alpha = Alpha(options);
  const bool balance = options.Switch("balance");
  const int64_t least = options.Integer("least", 0, kMostSamples);
  if (data.samples == 0) return nullptr;
  const Lists classes = ByClass(data, "dirichlet");
  CheckEnough(clients, data.samples);
  const std::vector<double> concentrations(static_cast<size_t>(clients), alpha);
  const double even = static_cast<double>(data.samples) / static_cast<double>(clients);
  return FirstWith(least, [&](uint64_t attempt) {
    Lists lists(static_cast<size_t>(clients));
    for (size_t k = 0; k < classes.size(); ++k) {
      RandomStream random = Draws(seed, attempt, static_cast<int64_t>(k));
      std::vector<int64_t> samples = classes[k];
      Shuffle(samples, random);
      std::vector<double> shares = Dirichlet(random, concentrations);
      if (balance) {
        double sum = 0;
        for (size_t i = 0; i < shares.size(); ++i) {
          if (static_cast<double>(lists[i].size()) >= even) shares[i] = 0;
          sum += shares[i];
        }
        // All of the class may have been meant for clients that are full.
        if (sum <= 0) {
          for (size_t i = 0; i < shares.size(); ++i) {
            sum += shares[i] = static_cast<double>(lists[i].size()) < even ? 1 : 0;
          }
        }
        for (double& share : shares) share /= sum;
      }
      Deal(samples, CutSizes(shares, std::ssize(samples)), lists);
    }
    return lists;
  });
}

Made DirichletByClient(const OptionReader& options, const SampleLabels& data, int64_t clients,
                       uint64_t seed) {
  constexpr std::array<std::string_view, 2> kPriors = {"data", "uniform"};
  const double alpha = Alpha(options);
  const bool of_data = options.Choice("prior", kPriors) == 0;
  if (data.samples == 0) return nullptr;
  Lists left = ByClass(data, "dirichlet-client");
  CheckEnough(clients, data.samples);
  std::vector<double> concentrations;
  for (size_t k = 0; k < left.size(); ++k) {
    RandomStream random = Draws(seed, 0, static_cast<int64_t>(k));
    Shuffle(left[k], random);
    const double part =
        of_data ? static_cast<double>(left[k].size()) / static_cast<double>(data.samples)
                : 1.0 / static_cast<double>(left.size());
    concentrations.push_back(alpha * part);
  }
  Lists lists(static_cast<size_t>(clients));
  const std::vector<int64_t> sizes = EvenSizes(data.samples, clients);
  for (int64_t client = 0; client < clients; ++client) {
    RandomStream random = Draws(seed, 1, client);
    std::vector<double> shares = Dirichlet(random, concentrations);
    for (int64_t i = 0; i < sizes[client]; ++i) {
      double sum = 0;
      for (size_t k = 0; k < left.size(); ++k) sum += left[k].empty() ? shares[k] = 0 : shares[k];
      // The client's classes have run out: it takes what is left of the other classes.
      if (sum <= 0) {
        for (size_t k = 0; k < left.size(); ++k) shares[k] = static_cast<double>(left[k].size());
      }
      std::vector<int64_t>& from = left[Pick(shares, random.Uniform())];
      lists[client].push_back(from.back());
      from.pop_back();
    }
  }
  return Keep(std::move(lists));
}

Made Shards(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed) {
  const int64_t per_client = options.Integer("per_client", 1, 1'000'000);
  if (data.samples == 0) return nullptr;
  const Lists classes = ByClass(data, "shards");
  const int64_t count = clients * per_client;
  if (count > data.samples) {
    throw Error("partition: per_client", std::to_string(per_client),
                "as many shards as there are training samples (" + std::to_string(data.samples) +
                    ") at most, for " + std::to_string(clients) + " clients");
  }
  std::vector<int64_t> sorted;
  for (size_t k = 0; k < classes.size(); ++k) {
    std::vector<int64_t> samples = classes[k];
    RandomStream random = Draws(seed, 0, static_cast<int64_t>(k));
    Shuffle(samples, random);
    sorted.insert(sorted.end(), samples.begin(), samples.end());
  }
  Lists shards(static_cast<size_t>(count));
  Deal(sorted, EvenSizes(data.samples, count), shards);
  RandomStream random = Draws(seed, 1, kWhole);
  Shuffle(shards, random);
  Lists lists(static_cast<size_t>(clients));
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t>& list = lists[i / per_client];
    list.insert(list.end(), shards[i].begin(), shards[i].end());
  }
  return Keep(std::move(lists));
}

Made Labels(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t seed) {
  const int64_t per_client = options.Integer("per_client", 1, MostLabels(data));
  if (data.samples == 0) return nullptr;
  const Lists classes = ByClass(data, "labels");
  CheckEnough(clients, data.samples);
  const Lists labels = DrawnLabels(clients, per_client, data.classes, seed);
  Lists lists(static_cast<size_t>(clients));
  for (int64_t k = 0; k < data.classes; ++k) {
    std::vector<int64_t> takers;
    for (int64_t client = 0; client < clients; ++client) {
      if (std::ranges::count(labels[client], k) > 0) takers.push_back(client);
    }
    if (takers.empty()) continue;  // no client has the label
    std::vector<int64_t> samples = classes[k];
    RandomStream random = Draws(seed, 1, k);
    Shuffle(samples, random);
    Lists parts(takers.size());
    Deal(samples, EvenSizes(std::ssize(samples), std::ssize(takers)), parts);
    for (size_t i = 0; i < takers.size(); ++i) {
      std::vector<int64_t>& list = lists[takers[i]];
      list.insert(list.end(), parts[i].begin(), parts[i].end());
    }
  }
  return Keep(std::move(lists));
}

Made Quantity(const OptionReader& options, const SampleLabels& data, int64_t clients,
              uint64_t seed) {
  const double alpha = Alpha(options);
  const double sigma = options.Number("lognormal", 0, 10);
  const int64_t least = options.Integer("least", 0, kMostSamples);
  if (data.samples == 0) return nullptr;
  CheckEnough(clients, data.samples);
  return FirstWith(least, [&](uint64_t attempt) {
    RandomStream random = Draws(seed, attempt, kWhole);
    std::vector<int64_t> samples = Counting(data.samples);
    Shuffle(samples, random);
    std::vector<double> shares(static_cast<size_t>(clients), alpha);
    if (sigma > 0) {
      double sum = 0;
      for (double& share : shares) sum += share = std::exp(sigma * random.Normal());
      for (double& share : shares) share /= sum;
    } else {
      shares = Dirichlet(random, shares);
    }
    Lists lists(static_cast<size_t>(clients));
    Deal(samples, CutSizes(shares, data.samples), lists);
    return lists;
  });
}

Made PowerLaw(const OptionReader& options, const SampleLabels& data, int64_t clients,
              uint64_t seed) {
  const int64_t labels = options.Integer("labels", 1, MostLabels(data));
  const double sigma = options.Number("sigma", 0, 10);
  const int64_t least = options.Integer("least", 0, kMostSamples);
  if (data.samples == 0) return nullptr;
  const Lists classes = ByClass(data, "power-law");
  Lists lists(static_cast<size_t>(clients));
  for (int64_t k = 0; k < data.classes; ++k) {
    std::vector<int64_t> takers;
    for (int64_t client = 0; client < clients; ++client) {
      const int64_t first = client % data.classes;
      if ((k - first + data.classes) % data.classes < labels) takers.push_back(client);
    }
    if (takers.empty()) continue;
    std::vector<int64_t> samples = classes[k];
    const int64_t rest = std::ssize(samples) - least * std::ssize(takers);
    if (rest < 0) {
      throw Error("partition: least", std::to_string(least),
                  "at most " + std::to_string(std::ssize(samples) / std::ssize(takers)) + ", as " +
                      std::to_string(takers.size()) + " clients share the " +
                      std::to_string(samples.size()) + " samples of label " + std::to_string(k));
    }
    RandomStream random = Draws(seed, 0, k);
    Shuffle(samples, random);
    std::vector<double> shares(takers.size());
    double sum = 0;
    for (double& share : shares) sum += share = std::exp(sigma * random.Normal());
    for (double& share : shares) share /= sum;
    std::vector<int64_t> sizes = CutSizes(shares, rest);
    for (int64_t& size : sizes) size += least;
    Lists parts(takers.size());
    Deal(samples, sizes, parts);
    for (size_t i = 0; i < takers.size(); ++i) {
      std::vector<int64_t>& list = lists[takers[i]];
      list.insert(list.end(), parts[i].begin(), parts[i].end());
    }
  }
  return Keep(std::move(lists));
}

Made Natural(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t) {
  const std::string& file = options.Text("file");
  if (file.empty()) throw Error("partition", "natural", "natural:file=FILE");
  if (data.samples == 0) return nullptr;
  return Keep(ReadLists(file, data.samples, clients));
}

Made Groups(const OptionReader& options, const SampleLabels& data, int64_t clients, uint64_t) {
  const int64_t least = options.Integer("least", 1, kMostSamples);
  if (data.samples == 0) return nullptr;
  if (data.groups.empty()) {
    throw Error("partition", "groups", "another rule, as the data have no groups of their own");
  }
  Lists all(static_cast<size_t>(data.group_count));
  for (int64_t i = 0; i < data.samples; ++i) all[data.groups[i]].push_back(i);
  std::erase_if(all, [&](const auto& list) { return std::ssize(list) < least; });
  if (clients > std::ssize(all)) {
    throw Error("clients", std::to_string(clients),
                "at most " + std::to_string(all.size()) + ", the groups of " +
                    std::to_string(least) + " samples or more");
  }
  all.resize(static_cast<size_t>(clients));
  return Keep(std::move(all));
}

}  // namespace legacy::partitions
