// Ratings say which users took which items. The last item of each user is held out, to see whether
// a model would have recommended it (leave-one-out, He et al.: Neural Collaborative Filtering, WWW
// 2017).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "trainer/data/cache/cache_file.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

// Ratings are implicit: it does not matter how a user rated an item, only that there is a rating.
// Users and items are numbered from 0 in the order of their first appearance in the file.
struct Ratings {
  std::string name;  // of the data set
  int32_t users = 0;
  int32_t items = 0;
  // The training items of user u are train_items[starts[u]] to train_items[starts[u + 1] - 1], in
  // ascending order, each once. The training pairs are numbered by their place in train_items.
  std::vector<int64_t> starts;
  std::vector<int32_t> train_items;
  // The item that each user took last; of equal times the last in the file. -1 for users with one
  // item only, which stays in training, so that they are not evaluated.
  std::vector<int32_t> held_out;
  int64_t lines = 0;     // ratings in the file
  int64_t repeated = 0;  // of them those of an item that the user had already rated
  int negatives = 99;    // items that evaluation draws besides the held-out one, an option
  bool from_cache = false;

  int64_t pairs() const { return static_cast<int64_t>(train_items.size()); }
  std::span<const int32_t> ItemsOf(int32_t user) const {
    return std::span(train_items)
        .subspan(static_cast<size_t>(starts[user]),
                 static_cast<size_t>(starts[user + 1] - starts[user]));
  }
  // Returns the user of a training pair, in logarithmic time.
  int32_t UserOf(int64_t pair) const;
  // Returns the user of every training pair.
  std::vector<int32_t> TrainUsers() const;
  // True where the item is a training item of the user.
  bool Trains(int32_t user, int32_t item) const;
  // True where the user took the item, be it for training or held out.
  bool Has(int32_t user, int32_t item) const {
    return held_out[user] == item || Trains(user, item);
  }
  // Users who have a held-out item, ascending.
  std::vector<int32_t> EvaluatedUsers() const;
};

// Returns the ratings of a data set. A file is "userId,movieId,rating,timestamp" with that header
// line (ml-20m), or "UserID::MovieID::Rating::Timestamp" without one (ml-1m); it may be gzipped.
// What was read is kept in `root`/cache, as a corpus is; with `cached` false the file itself is
// read. Throws Error "FILE:LINE: ..." for malformed lines and for numbers out of range.
Ratings LoadRatings(const CatalogEntry& entry, const std::filesystem::path& root,
                    bool cached = true);

// Reads a file of ratings, without a cache. Ratings are from `least` to `most`.
Ratings ReadRatings(const std::filesystem::path& file, double least, double most);

// As TakeCorpus() and SectionsOf() of a corpus.
bool TakeRatings(std::span<const Section> sections, Ratings& ratings);
std::vector<Section> SectionsOf(const Ratings& ratings);

// Returns `count` different items that the user does not have, in the order in which they were
// drawn; a pure function of (seed, user). Throws Error where there are fewer.
std::vector<int32_t> EvaluationNegatives(const Ratings& ratings, int32_t user, int count,
                                         uint64_t seed);

// Returns an item that is not a training item of the user, drawn from `random`. The held-out item
// may be drawn, because a training must not know it. Throws Error where the user has all items.
int32_t DrawNegative(const Ratings& ratings, int32_t user, RandomStream& random);

}  // namespace legacy
