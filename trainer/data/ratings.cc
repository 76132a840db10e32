#include "trainer/data/ratings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/number.h"
#include "trainer/data/cache/file_digest.h"
#include "trainer/data/images.h"
#include "trainer/data/tastes.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using Format = CatalogEntry::Format;

constexpr const char* kRatingRules = "ratings 1";
constexpr size_t kLinePiece = size_t{1} << 20;
constexpr size_t kLongestLine = 4096;
constexpr std::string_view kHeader = "userId,movieId,rating,timestamp";

// A Rating is one line of a file.
struct Rating {
  int32_t user = 0;
  int32_t item = 0;
  int64_t time = 0;
};

// Names of a line's fields.
constexpr std::array<const char*, 4> kFields = {"user", "item", "rating", "time"};

// A LineReader gives the lines of a file, plain or gzipped, one after the other.
class LineReader {
 public:
  explicit LineReader(const fs::path& file) : file_(file), input_(file) {}

  // Returns the next line without its end, or nothing. It is valid until the next call.
  std::optional<std::string_view> Next() {
    size_t end = text_.find('\n', at_);
    while (end == std::string::npos && !last_) {
      text_.erase(0, at_);
      at_ = 0;
      if (text_.size() > kLongestLine) {
        ++line_;
        Refuse("a line of more than " + std::to_string(kLongestLine) + " bytes", "ratings");
      }
      const std::vector<uint8_t> piece = input_.Read(kLinePiece);
      last_ = piece.size() < kLinePiece;
      const size_t before = text_.size();
      text_.append(piece.begin(), piece.end());
      end = text_.find('\n', before);
    }
    if (at_ == text_.size()) return std::nullopt;
    if (end == std::string::npos) end = text_.size();
    std::string_view line = std::string_view(text_).substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  // Throws Error "FILE:LINE: got 'FOUND'; allowed: EXPECTED" for the last line.
  [[noreturn]] void Refuse(const std::string& found, const std::string& expected) const {
    throw Error(file_.string() + ":" + std::to_string(line_), found, expected);
  }

 private:
  fs::path file_;
  ImageFile input_;
  std::string text_;
  size_t at_ = 0;
  bool last_ = false;
  int64_t line_ = 0;
};

// A Compacting numbers the ids of a file from 0 in the order of their first appearance. Small ids
// are looked up in a table.
class Compacting {
 public:
  int32_t Number(int64_t id) {
    if (id < kTable) {
      if (id >= static_cast<int64_t>(table_.size())) {
        table_.resize(std::max<size_t>(static_cast<size_t>(id) + 1, 2 * table_.size()), -1);
      }
      int32_t& number = table_[static_cast<size_t>(id)];
      if (number < 0) number = count_++;
      return number;
    }
    const auto [found, is_new] = far_.try_emplace(id, count_);
    if (is_new) ++count_;
    return found->second;
  }
  int32_t count() const { return count_; }

 private:
  static constexpr int64_t kTable = 1 << 24;
  std::vector<int32_t> table_;
  std::unordered_map<int64_t, int32_t> far_;
  int32_t count_ = 0;
};

// Splits a line into its four fields. Returns false if it has more or fewer.
bool Split(std::string_view line, std::string_view separator,
           std::array<std::string_view, 4>& fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = line.find(separator);
    if ((end == std::string_view::npos) != (i + 1 == fields.size())) return false;
    fields[i] = line.substr(0, end);
    if (end != std::string_view::npos) line.remove_prefix(end + separator.size());
  }
  return true;
}

int64_t WholeField(const LineReader& reader, std::string_view text, size_t field) {
  constexpr int64_t kMost = int64_t{1} << 53;
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMost) {
    reader.Refuse(std::string(kFields[field]) + " " + std::string(text),
                  std::string(kFields[field]) + "s from 0 to " + std::to_string(kMost));
  }
  return value;
}

// Returns the lines of a file, with compact ids.
std::vector<Rating> ReadLines(const fs::path& file, double least, double most, int32_t& users,
                              int32_t& items) {
  if (fs::is_directory(file)) throw Error(file.string(), "a folder", "a file of ratings");
  LineReader reader(file);
  std::optional<std::string_view> line = reader.Next();
  const bool has_header = line == kHeader;
  if (has_header) line = reader.Next();
  if (!line) {
    throw Error(file.string(), "no ratings", "lines of user, item, rating and time");
  }
  const std::string_view separator = line->find("::") != std::string_view::npos ? "::" : ",";
  const std::string form =
      separator == "," ? "userId,movieId,rating,timestamp" : "UserID::MovieID::Rating::Timestamp";
  Compacting user_numbers, item_numbers;
  std::vector<Rating> ratings;
  std::array<std::string_view, 4> fields;
  for (; line; line = reader.Next()) {
    if (!Split(*line, separator, fields)) reader.Refuse(std::string(*line), form);
    const auto rating = ParseNumber(fields[2]);
    if (!rating || !(*rating >= least && *rating <= most)) {
      reader.Refuse("rating " + std::string(fields[2]),
                    "ratings from " + FormatNumber(least) + " to " + FormatNumber(most));
    }
    const int64_t user = WholeField(reader, fields[0], 0);
    const int64_t item = WholeField(reader, fields[1], 1);
    const int64_t time = WholeField(reader, fields[3], 3);
    ratings.push_back({user_numbers.Number(user), item_numbers.Number(item), time});
  }
  users = user_numbers.count();
  items = item_numbers.count();
  return ratings;
}

// Groups lines by user, in their order.
std::vector<Rating> ByUser(const std::vector<Rating>& lines, std::vector<int64_t>& starts) {
  for (const Rating& line : lines) ++starts[static_cast<size_t>(line.user) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int64_t> next = starts;
  std::vector<Rating> grouped(lines.size());
  for (const Rating& line : lines) {
    grouped[static_cast<size_t>(next[static_cast<size_t>(line.user)]++)] = line;
  }
  return grouped;
}

// Moves the users' items into `ratings`, and holds out the last one of each.
void HoldOut(const std::vector<Rating>& lines, Ratings& ratings) {
  std::vector<int64_t> starts(static_cast<size_t>(ratings.users) + 1);
  const std::vector<Rating> grouped = ByUser(lines, starts);
  ratings.lines = static_cast<int64_t>(lines.size());
  ratings.held_out.assign(static_cast<size_t>(ratings.users), -1);
  ratings.starts.assign(1, 0);
  ratings.starts.reserve(starts.size());
  ratings.train_items.reserve(lines.size());
  std::vector<int32_t> items;
  for (size_t user = 0; user < ratings.held_out.size(); ++user) {
    const std::span<const Rating> own = std::span(grouped).subspan(
        static_cast<size_t>(starts[user]), static_cast<size_t>(starts[user + 1] - starts[user]));
    const Rating* last = &own.front();
    items.clear();
    for (const Rating& rating : own) {
      if (rating.time >= last->time) last = &rating;
      items.push_back(rating.item);
    }
    std::ranges::sort(items);
    const auto repeated = std::unique(items.begin(), items.end());
    ratings.repeated += items.end() - repeated;
    items.erase(repeated, items.end());
    if (items.size() > 1) {
      ratings.held_out[user] = last->item;
      std::erase(items, last->item);
    }
    ratings.train_items.insert(ratings.train_items.end(), items.begin(), items.end());
    ratings.starts.push_back(ratings.pairs());
  }
}

}  // namespace

int32_t Ratings::UserOf(int64_t pair) const {
  const auto after = std::ranges::upper_bound(starts, pair);
  return static_cast<int32_t>(after - starts.begin()) - 1;
}

std::vector<int32_t> Ratings::TrainUsers() const {
  std::vector<int32_t> all(train_items.size());
  for (int32_t user = 0; user < users; ++user) {
    std::fill(all.begin() + starts[static_cast<size_t>(user)],
              all.begin() + starts[static_cast<size_t>(user) + 1], user);
  }
  return all;
}

bool Ratings::Trains(int32_t user, int32_t item) const {
  return std::ranges::binary_search(ItemsOf(user), item);
}

std::vector<int32_t> Ratings::EvaluatedUsers() const {
  std::vector<int32_t> found;
  for (int32_t user = 0; user < users; ++user) {
    if (held_out[static_cast<size_t>(user)] >= 0) found.push_back(user);
  }
  return found;
}

Ratings ReadRatings(const fs::path& file, double least, double most) {
  Ratings ratings;
  const std::vector<Rating> lines = ReadLines(file, least, most, ratings.users, ratings.items);
  HoldOut(lines, ratings);
  return ratings;
}

std::vector<Section> SectionsOf(const Ratings& ratings) {
  return {Section::Of(
              std::vector<int64_t>{ratings.users, ratings.items, ratings.lines, ratings.repeated}),
          Section::Of(ratings.starts), Section::Of(ratings.train_items),
          Section::Of(ratings.held_out)};
}

bool TakeRatings(std::span<const Section> sections, Ratings& ratings) {
  if (sections.size() != 4) return false;
  const auto counts = sections[0].As<int64_t>();
  const auto starts = sections[1].As<int64_t>();
  const auto items = sections[2].As<int32_t>();
  const auto held_out = sections[3].As<int32_t>();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!counts || !starts || !items || !held_out || counts->size() != 4) return false;
  const int64_t users = (*counts)[0], item_count = (*counts)[1];
  if (users < 1 || users > kMost || item_count < 1 || item_count > kMost ||
      std::ssize(*starts) != users + 1 || std::ssize(*held_out) != users || starts->front() != 0 ||
      starts->back() != std::ssize(*items) || !std::ranges::is_sorted(*starts)) {
    return false;
  }
  const auto in_range = [&](int32_t least) {
    return [=](int32_t item) { return item >= least && item < item_count; };
  };
  if (!std::ranges::all_of(*items, in_range(0)) || !std::ranges::all_of(*held_out, in_range(-1))) {
    return false;
  }
  Ratings taken;
  taken.users = static_cast<int32_t>(users);
  taken.items = static_cast<int32_t>(item_count);
  taken.lines = (*counts)[2];
  taken.repeated = (*counts)[3];
  taken.starts.assign(starts->begin(), starts->end());
  taken.train_items.assign(items->begin(), items->end());
  taken.held_out.assign(held_out->begin(), held_out->end());
  for (int32_t user = 0; user < taken.users; ++user) {
    const auto own = taken.ItemsOf(user);
    if (std::ranges::adjacent_find(own, std::greater_equal<>()) != own.end()) return false;
  }
  ratings = std::move(taken);
  return true;
}

Ratings LoadRatings(const CatalogEntry& entry, const fs::path& root, bool cached) {
  const OptionReader options = entry.Options();
  Ratings ratings;
  if (entry.format == Format::kTastes) {
    ratings = DrawTastes(static_cast<int32_t>(options.Integer("users", 1, 10'000'000)),
                         static_cast<int32_t>(options.Integer("items", 2, 1'000'000)),
                         static_cast<int32_t>(options.Integer("per_user", 1, 10'000)));
  } else if (entry.format == Format::kRatings) {
    CheckIsHere(entry, root);
    const std::vector<fs::path> files = DataFiles(entry, root);
    const bool own = entry.name == "ratings";
    const double least = own ? options.Number("least", -1e6, 1e6) : 0.5;
    const double most = own ? options.Number("most", least, 1e6) : 5;
    const std::string key = FormatNumber(least) + " " + FormatNumber(most) + " " +
                            fs::absolute(files[0]).lexically_normal().string();
    const bool from_cache = MakeOnce(
        cached ? root / "cache" : fs::path(), entry.name + "-" + TextDigest(key).substr(0, 16),
        kRatingRules, files, [&] { return SectionsOf(ReadRatings(files[0], least, most)); },
        [&](std::span<const Section> sections) { return TakeRatings(sections, ratings); });
    ratings.from_cache = from_cache;
  } else {
    throw Error("data set", entry.name, "ratings, such as ml-1m");
  }
  ratings.name = entry.name;
  ratings.negatives = static_cast<int>(options.Integer("negatives", 1, 100'000));
  return ratings;
}

std::vector<int32_t> EvaluationNegatives(const Ratings& ratings, int32_t user, int count,
                                         uint64_t seed) {
  const int64_t own = std::ssize(ratings.ItemsOf(user)) +
                      (ratings.held_out[static_cast<size_t>(user)] >= 0 ? 1 : 0);
  if (count < 0 || count > ratings.items - own) {
    throw Error(ratings.name + ": negatives", std::to_string(count),
                "0 to " + std::to_string(ratings.items - own) + ", as user " +
                    std::to_string(user) + " has " + std::to_string(own) + " of " +
                    std::to_string(ratings.items) + " items");
  }
  RandomStream random(
      {.seed = seed, .step = static_cast<uint64_t>(user), .purpose = Purpose::kNegatives});
  std::vector<int32_t> drawn;
  drawn.reserve(static_cast<size_t>(count));
  std::unordered_set<int32_t> seen;
  while (std::ssize(drawn) < count) {
    const auto item = static_cast<int32_t>(random.Below(static_cast<uint32_t>(ratings.items)));
    if (!ratings.Has(user, item) && seen.insert(item).second) drawn.push_back(item);
  }
  return drawn;
}

int32_t DrawNegative(const Ratings& ratings, int32_t user, RandomStream& random) {
  if (std::ssize(ratings.ItemsOf(user)) >= ratings.items) {
    throw Error(ratings.name + ": user " + std::to_string(user), "all items",
                "users who lack some item");
  }
  for (;;) {
    const auto item = static_cast<int32_t>(random.Below(static_cast<uint32_t>(ratings.items)));
    if (!ratings.Trains(user, item)) return item;
  }
}

}  // namespace legacy
