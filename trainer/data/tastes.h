// The embedded ratings are drawn from tastes: each user and each item has a point in a space of few
// dimensions, and a user takes the items that please him most, with some noise. Only additions,
// multiplications and comparisons decide, so the pairs are the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/ratings.h"

namespace legacy {

// A TasteModel says how much each item pleases each user, noise apart.
class TasteModel {
 public:
  static constexpr int kFactors = 8;

  TasteModel(int32_t users, int32_t items);

  // Returns how much the item pleases the user. A recommender that knew this would be the best.
  double Liking(int32_t user, int32_t item) const;
  // Returns the `count` items that the user takes, in the order of time.
  std::vector<int32_t> Choices(int32_t user, int32_t count) const;

 private:
  int32_t items_;
  std::vector<double> user_factors_;  // [users, kFactors]
  std::vector<double> item_factors_;  // [items, kFactors]
  std::vector<double> popularity_;    // [items]
};

// Returns the ratings of `users` users who take `per_user` of `items` items each. Throws Error
// where per_user is not below items.
Ratings DrawTastes(int32_t users, int32_t items, int32_t per_user);

}  // namespace legacy
