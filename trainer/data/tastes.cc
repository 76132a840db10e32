#include "trainer/data/tastes.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace legacy {
namespace {

// Weights of the parts of a user's liking for an item, relative to factors of variance 1.
constexpr double kTasteWeight = 1.0;
constexpr double kPopularityWeight = 1.0;
constexpr double kNoiseWeight = 1.0;

enum : uint32_t { kUserLayer = 11, kItemLayer = 12, kChoiceLayer = 13 };

RandomStream TasteStream(uint32_t layer, int32_t row, int32_t other = 0) {
  return RandomStream({.step = static_cast<uint64_t>(row),
                       .worker = static_cast<uint32_t>(other),
                       .layer = layer,
                       .purpose = Purpose::kDataset});
}

// Returns a number that is nearly normal, of variance 1: the sum of twelve uniform ones, less 6.
// Unlike Box and Muller's it needs no function whose last bit differs between machines.
double SumOfTwelve(RandomStream& random) {
  constexpr int kTerms = 12;
  double sum = -kTerms / 2;
  for (int i = 0; i < kTerms; ++i) sum += random.Uniform();
  return sum;
}

}  // namespace

TasteModel::TasteModel(int32_t users, int32_t items) : items_(items) {
  const auto draw = [](uint32_t layer, int32_t rows) {
    std::vector<double> factors;
    factors.reserve(static_cast<size_t>(rows) * kFactors);
    for (int32_t row = 0; row < rows; ++row) {
      RandomStream random = TasteStream(layer, row);
      for (int i = 0; i < kFactors; ++i) factors.push_back(SumOfTwelve(random));
    }
    return factors;
  };
  user_factors_ = draw(kUserLayer, users);
  item_factors_ = draw(kItemLayer, items);
  for (int32_t item = 0; item < items; ++item) {
    RandomStream random = TasteStream(kItemLayer, item, 1);
    popularity_.push_back(SumOfTwelve(random));
  }
}

double TasteModel::Liking(int32_t user, int32_t item) const {
  const double* u = user_factors_.data() + static_cast<size_t>(user) * kFactors;
  const double* v = item_factors_.data() + static_cast<size_t>(item) * kFactors;
  double product = 0;
  for (int i = 0; i < kFactors; ++i) product += u[i] * v[i];
  return kTasteWeight * product + kPopularityWeight * popularity_[static_cast<size_t>(item)];
}

std::vector<int32_t> TasteModel::Choices(int32_t user, int32_t count) const {
  RandomStream random = TasteStream(kChoiceLayer, user);
  std::vector<double> pleasure;
  pleasure.reserve(static_cast<size_t>(items_));
  for (int32_t item = 0; item < items_; ++item) {
    pleasure.push_back(Liking(user, item) + kNoiseWeight * SumOfTwelve(random));
  }
  std::vector<int32_t> order(static_cast<size_t>(items_));
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    const double pa = pleasure[static_cast<size_t>(a)], pb = pleasure[static_cast<size_t>(b)];
    return pa != pb ? pa > pb : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), better);
  order.resize(static_cast<size_t>(count));
  // The chronological order is drawn at random, so that the item that is held out is like the
  // others.
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.Below(static_cast<uint32_t>(i))]);
  }
  return order;
}

Ratings DrawTastes(int32_t users, int32_t items, int32_t per_user) {
  if (per_user < 1 || per_user >= items) {
    throw Error("tastes: per_user", std::to_string(per_user),
                "1 to " + std::to_string(items - 1) + ", one less than there are items");
  }
  const TasteModel model(users, items);
  Ratings ratings;
  ratings.users = users;
  ratings.items = items;
  ratings.starts.push_back(0);
  for (int32_t user = 0; user < users; ++user) {
    std::vector<int32_t> chosen = model.Choices(user, per_user);
    ratings.held_out.push_back(per_user > 1 ? chosen.back() : -1);
    if (per_user > 1) chosen.pop_back();
    std::ranges::sort(chosen);
    ratings.train_items.insert(ratings.train_items.end(), chosen.begin(), chosen.end());
    ratings.starts.push_back(ratings.pairs());
    ratings.lines += per_user;
  }
  return ratings;
}

}  // namespace legacy
