#include "scenarios/graphs/goal_reader.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/words.h"

namespace legacy::graphs {
namespace {

constexpr int64_t kMostCpu = 255;

// GoalWords walks over the words of a text. ':', '{' and '}' are words by themselves.
class GoalWords {
 public:
  GoalWords(const std::string& path, std::string_view text) : path_(path), left_(text) {
    Advance();
  }

  std::string_view Word() const { return word_; }
  bool AtEnd() const { return word_.empty(); }
  std::string Where() const { return path_ + ":" + std::to_string(line_) + ": "; }

  std::string_view Take() {
    const std::string_view word = word_;
    if (AtEnd()) throw Error::Refusal(Where() + "the text ends too early");
    Advance();
    return word;
  }

  void Expect(std::string_view expected) {
    if (word_ != expected) {
      throw Error(Where() + "a word", Shown(word_), std::string(expected));
    }
    Advance();
  }

  bool TakeIf(std::string_view word) {
    if (word_ != word) return false;
    Advance();
    return true;
  }

  int64_t TakeWhole(const std::string& what, int64_t most) {
    const std::string where = Where() + what;
    return ParseWhole(Take(), where, 0, most);
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ';'; }
  static bool IsAlone(char c) { return c == ':' || c == '{' || c == '}'; }

  void Skip(size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) next_line_ += left_[i] == '\n' ? 1 : 0;
    left_.remove_prefix(bytes);
  }

  void SkipBlanks() {
    while (!left_.empty()) {
      if (IsBlank(left_[0]) || left_[0] == '\n') {
        Skip(1);
      } else if (left_.starts_with("//")) {
        Skip(std::min(left_.find('\n'), left_.size()));
      } else if (left_.starts_with("/*")) {
        const size_t end = left_.find("*/");
        if (end == std::string_view::npos) {
          throw Error::Refusal(path_ + ":" + std::to_string(next_line_) + ": a comment has no end");
        }
        Skip(end + 2);
      } else {
        return;
      }
    }
  }

  void Advance() {
    SkipBlanks();
    line_ = next_line_;
    size_t end = 0;
    while (end < left_.size() && !IsBlank(left_[end]) && left_[end] != '\n' &&
           !IsAlone(left_[end])) {
      ++end;
    }
    if (end == 0 && !left_.empty()) end = 1;
    word_ = left_.substr(0, end);
    left_.remove_prefix(end);
  }

  const std::string& path_;
  std::string_view left_;
  std::string_view word_;
  int64_t line_ = 1, next_line_ = 1;
};

// A RankReader reads the operations of one rank.
class RankReader {
 public:
  explicit RankReader(GoalWords& words) : words_(words) {}

  // Reads up to the closing brace.
  std::vector<TraceNode> Read() {
    words_.Expect("{");
    while (!words_.TakeIf("}")) ReadStatement();
    return std::move(nodes_);
  }

 private:
  void ReadStatement() {
    const std::string where = words_.Where();
    const std::string_view word = words_.Take();
    if (IsOperation(word) && words_.Word() != ":") {
      ReadOperation(word, "");
    } else if (words_.TakeIf(":")) {
      const auto number = static_cast<int>(nodes_.size());
      if (!labels_.emplace(std::string(word), number).second) {
        throw Error::Refusal(where + "the label " + Shown(word) + " is there twice");
      }
      const std::string_view operation = words_.Take();
      if (!IsOperation(operation)) throw Error(where + "operation", Shown(operation), kOperations);
      ReadOperation(operation, word);
    } else {
      ReadDependency(word, where);
    }
  }

  static bool IsOperation(std::string_view word) {
    return word == "send" || word == "recv" || word == "calc";
  }

  void ReadDependency(std::string_view label, const std::string& where) {
    const std::string_view relation = words_.Take();
    if (relation != "requires" && relation != "irequires") {
      throw Error(where + "after " + Shown(label), Shown(relation), "':', requires, irequires");
    }
    TraceNode& node = nodes_[Find(label, where)];
    const uint64_t before = Find(words_.Take(), where);
    if (before == node.id) throw Error::Refusal(where + Shown(label) + " waits for itself");
    (relation == "requires" ? node.data_after : node.after_start).push_back(before);
  }

  int Find(std::string_view label, const std::string& where) const {
    const auto found = labels_.find(std::string(label));
    if (found == labels_.end()) {
      throw Error::Refusal(where + "there is no label " + Shown(label) + " before");
    }
    return found->second;
  }

  void ReadOperation(std::string_view operation, std::string_view label) {
    TraceNode node;
    node.id = nodes_.size();
    node.name = std::string(label);
    if (operation == "calc") {
      node.kind = NodeKind::kCompute;
      node.duration = words_.TakeWhole("nanoseconds", INT64_MAX / 2);
    } else {
      const bool send = operation == "send";
      node.kind = send ? NodeKind::kSend : NodeKind::kReceive;
      node.bytes = TakeBytes();
      words_.Expect(send ? "to" : "from");
      (send ? node.destination : node.source) = words_.TakeWhole("rank", kMostTraceRanks);
    }
    while (true) {
      if (words_.TakeIf("tag")) {
        node.tag = words_.TakeWhole("tag", INT32_MAX);
      } else if (words_.TakeIf("cpu")) {
        const auto cpu = static_cast<int>(words_.TakeWhole("cpu", kMostCpu));
        if (node.kind == NodeKind::kCompute) node.device = cpu;
      } else if (words_.TakeIf("nic")) {
        words_.TakeWhole("nic", kMostCpu);  // a host has the ports of the topology
      } else {
        break;
      }
    }
    nodes_.push_back(std::move(node));
  }

  int64_t TakeBytes() {
    const std::string where = words_.Where() + "bytes";
    std::string_view word = words_.Take();
    if (word.ends_with('b')) word.remove_suffix(1);
    return ParseWhole(word, where, 0, kMostBytes);
  }

  static constexpr const char* kOperations = "send, recv, calc";

  GoalWords& words_;
  std::vector<TraceNode> nodes_;
  std::unordered_map<std::string, int> labels_;
};

}  // namespace

void ReadGoal(const std::string& path, const GoalUse& use) {
  const std::string text = ReadWholeFile(path);
  GoalWords words(path, text);
  words.Expect("num_ranks");
  const auto ranks = static_cast<int>(words.TakeWhole("num_ranks", kMostTraceRanks));
  if (ranks == 0) throw Error(path + ": num_ranks", "0", "1 or more");
  use.begin(ranks);
  std::map<int, std::vector<TraceNode>> waiting;  // ranks that come before their turn
  std::vector<bool> known(ranks, false);
  int next = 0;
  const auto hand = [&](const std::vector<TraceNode>& nodes) {
    use.rank(next++);
    for (const TraceNode& node : nodes) use.node(node);
  };
  while (!words.AtEnd()) {
    words.Expect("rank");
    const std::string where = words.Where() + "rank";
    const auto rank = static_cast<int>(words.TakeWhole("rank", ranks - 1));
    if (known[rank]) throw Error(where, std::to_string(rank) + " again", "each rank once");
    known[rank] = true;
    std::vector<TraceNode> nodes = RankReader(words).Read();
    if (rank != next) {
      waiting[rank] = std::move(nodes);
      continue;
    }
    hand(nodes);
    for (auto found = waiting.find(next); found != waiting.end(); found = waiting.find(next)) {
      hand(found->second);
      waiting.erase(found);
    }
  }
  while (next < ranks) hand(waiting.contains(next) ? waiting[next] : std::vector<TraceNode>());
}

}  // namespace legacy::graphs
