// The YAML form of a shape's file. docs/shapes.md describes it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/yaml.h"
#include "base/parse.h"
#include "base/words.h"
#include "compress/message.h"
#include "scenarios/options/shape_builder.h"

namespace legacy {
namespace {

constexpr int64_t kMostBatch = 1 << 20;  // the same limit as that of --batch
constexpr int64_t kMostBlocks = 10'000;
constexpr double kMostSize = 1e12;  // largest size of a matrix
const std::vector<std::string> kKinds = {"conv",        "linear", "attention", "batchnorm",
                                         "elementwise", "pool",   "loss"};

// How tensor parallelism divides an operation, in the order of TensorCut.
const std::vector<std::string> kCuts = {"none", "columns", "rows", "heads", "numbers", "words"};

bool HasWeightsToRead(const std::string& kind) { return kind == "conv" || kind == "linear"; }

double NumberOf(const YAML::Node& value, const std::string& key, double most = kMostWork) {
  return ParseNumber(ScalarText(value, key), key, 0, most);
}

int64_t WholeOf(const YAML::Node& value, const std::string& key, int64_t least, int64_t most) {
  return ParseInteger(ScalarText(value, key), key, least, most);
}

// A YamlShape reads one file.
class YamlShape {
 public:
  YamlShape(const std::string& text, const std::string& where, int64_t tokens)
      : root_(ParseYaml(text, where)), where_(where), tokens_(tokens) {}

  ModelShape Read();

 private:
  // An Attention has the sizes of one attention, by which its costs are reckoned.
  struct Attention {
    int64_t heads = 0, kv_heads = 0, head_size = 0, value_size = 0;
  };
  // A GivenOperation is an entry as it is written.
  struct GivenOperation {
    OperationCost cost;
    std::optional<double> multiply_adds, bytes, weight_bytes;
    std::optional<MatrixProduct> product;
    Attention attention;
  };

  void ReadHeader(const std::string& key, const YAML::Node& value);
  void ReadTokens();
  void ReadOperations(const YAML::Node& list);
  void ReadBlocks(const YAML::Node& node);
  void ReadOperation(const YAML::Node& node);
  void ReadField(const std::string& key, const YAML::Node& value, GivenOperation& given);
  double Amount(const YAML::Node& value, const std::string& key) const;
  MatrixProduct ProductOf(const YAML::Node& node) const;
  void AddAttention(const YAML::Node& node, GivenOperation& given) const;
  void AddProduct(GivenOperation& given) const;
  void CheckExperts(const YAML::Node& node, const OperationCost& cost) const;
  void CheckCount(const char* key, double counted) const;

  const YAML::Node root_;
  const std::string& where_;
  int64_t tokens_;           // tokens of a sample; 0: samples have none
  bool own_tokens_ = false;  // the counts of the file are for other tokens
  ShapeBuilder builder_;
  int block_ = kNoBlock;
  int blocks_ = 0;      // that were read
  std::string prefix_;  // of names
};

// Returns an amount of one sample. In files with tokens it is given for a token, or as a list: for
// a token, and for a token and each token of the sample.
double YamlShape::Amount(const YAML::Node& value, const std::string& key) const {
  const double tokens = static_cast<double>(tokens_);
  if (!value.IsSequence()) return NumberOf(value, key) * (tokens_ > 0 ? tokens : 1);
  if (tokens_ == 0 || value.size() != 2) {
    throw Error::Refusal(key + ": a list has two numbers, in a file with 'tokens'");
  }
  return tokens * (NumberOf(value[0], key) + tokens * NumberOf(value[1], key));
}

MatrixProduct YamlShape::ProductOf(const YAML::Node& node) const {
  MatrixProduct product{.rows = tokens_ > 0 ? static_cast<double>(tokens_) : 1};
  ReadMap(node, "product", where_, [&](const std::string& key, const YAML::Node& value) {
    if (key == "share") {
      product.rows *= ParseNumber(ScalarText(value, key), key, 0, 1);
      return;
    }
    const double size = ParseNumber(ScalarText(value, key), key, 1, kMostSize);
    if (key == "rows") {
      product.rows = size;
    } else if (key == "columns") {
      product.columns = size;
    } else if (key == "inner") {
      product.inner = size;
    } else if (key == "count") {
      product.count = size;
    } else {
      throw Error::Refusal("unknown key '" + key +
                           "'; allowed: rows, share, columns, inner, count");
    }
  });
  if (product.columns == 0 || product.inner == 0) {
    throw Error::Refusal(MarkText(where_, node.Mark()) + "product: needs columns and inner");
  }
  return product;
}

void YamlShape::ReadField(const std::string& key, const YAML::Node& value, GivenOperation& given) {
  constexpr int64_t kMostHeads = 1 << 20, kMostExperts = 1 << 20;
  if (key == "kind") {
    given.cost.kind = ParseChoice(ScalarText(value, key), key, kKinds);
  } else if (key == "tensor") {
    const auto cut = std::ranges::find(kCuts, ParseChoice(ScalarText(value, key), key, kCuts));
    given.cost.cut = static_cast<TensorCut>(cut - kCuts.begin());
  } else if (key == "multiply_adds") {
    given.multiply_adds = Amount(value, key);
  } else if (key == "bytes") {
    given.bytes = Amount(value, key);
  } else if (key == "weight_bytes") {
    given.weight_bytes = NumberOf(value, key);
  } else if (key == "masks") {
    given.cost.masks = Amount(value, key);
  } else if (key == "product") {
    given.product = ProductOf(value);
  } else if (key == "heads") {
    given.attention.heads = WholeOf(value, key, 1, kMostHeads);
  } else if (key == "kv_heads") {
    given.attention.kv_heads = WholeOf(value, key, 1, kMostHeads);
  } else if (key == "head_size") {
    given.attention.head_size = WholeOf(value, key, 1, kMostHeads);
  } else if (key == "value_size") {
    given.attention.value_size = WholeOf(value, key, 1, kMostHeads);
  } else if (key == "causal") {
    given.cost.causal = WholeOf(value, key, 0, 1) == 1;
  } else if (key == "experts") {
    given.cost.experts = static_cast<int>(WholeOf(value, key, 1, kMostExperts));
  } else if (key == "used") {
    given.cost.used = static_cast<int>(WholeOf(value, key, 1, kMostExperts));
  } else if (key == "parameters") {
    ReadMap(value, key, where_, [&](const std::string& name, const YAML::Node& shape) {
      builder_.AddTensor(prefix_ + name, ScalarText(shape, name), name);
    });
  } else {
    throw Error::Refusal("unknown key '" + key +
                         "'; allowed: kind, multiply_adds, bytes, weight_bytes, masks, product, "
                         "heads, kv_heads, head_size, value_size, causal, experts, used, tensor, "
                         "parameters");
  }
}

// Attention multiplies queries with keys, and scores with values. Fused attention reads queries,
// keys and values, and writes as much as the queries are.
void YamlShape::AddAttention(const YAML::Node& node, GivenOperation& given) const {
  const auto& [heads, kv_heads, head_size, value_size] = given.attention;
  if (heads == 0 || head_size == 0 || tokens_ == 0) {
    throw Error::Refusal(MarkText(where_, node.Mark()) +
                         "attention: needs heads, head_size and the file's tokens");
  }
  const auto tokens = static_cast<double>(tokens_);
  const auto size = static_cast<double>(head_size);
  const auto values = static_cast<double>(value_size == 0 ? head_size : value_size);
  const auto count = static_cast<double>(heads);
  const auto shared = static_cast<double>(kv_heads == 0 ? heads : kv_heads);
  given.cost.products = {
      {.rows = tokens, .columns = tokens, .inner = size, .count = count, .apart = true},
      {.rows = tokens, .columns = values, .inner = tokens, .count = count, .apart = true}};
  given.multiply_adds =
      given.cost.products[0].MultiplyAdds() + given.cost.products[1].MultiplyAdds();
  given.cost.keys = tokens * shared * (size + values);
  given.bytes = kShapeFloat * (tokens * count * (size + values) + given.cost.keys);
}

// Returns the part of the tokens that each expert of an operation gets; 1 where it has none.
double SharePerExpert(const OperationCost& cost) {
  return cost.experts == 0 ? 1 : static_cast<double>(cost.used) / cost.experts;
}

// A product that is not given is that of the weight, whose first size are the outputs: its rows
// follow from the multiply-adds, and are the tokens where those are not given. An operation that
// says what it reads of weights reads others than its own.
void YamlShape::AddProduct(GivenOperation& given) const {
  const Unit* weight = builder_.Weight();
  std::optional<MatrixProduct> product = given.product;
  const bool own = HasWeightsToRead(given.cost.kind) && !given.weight_bytes;
  if (!product && weight != nullptr && own) {
    const auto elements = static_cast<double>(weight->numel);
    // The weights of experts lie in one matrix, one after the other.
    const double experts = std::max(1, given.cost.experts);
    const auto outputs = static_cast<double>(weight->shape.front());
    const double rows = given.multiply_adds
                            ? *given.multiply_adds / elements
                            : static_cast<double>(tokens_) * SharePerExpert(given.cost);
    if (rows > 0) {
      product = {.rows = rows,
                 .columns = outputs / experts,
                 .inner = elements / outputs,
                 .count = experts};
    }
  }
  if (!product) return;
  if (!given.multiply_adds) given.multiply_adds = product->MultiplyAdds();
  if (!given.bytes) {
    given.bytes =
        kShapeFloat * product->rows * (product->columns + product->inner) * product->count;
  }
  product->bias = HasWeightsToRead(given.cost.kind) && builder_.HasBias();
  given.cost.products = {*product};
}

// Throws Error where an operation does not say how its experts are used.
void YamlShape::CheckExperts(const YAML::Node& node, const OperationCost& cost) const {
  const Unit* weight = builder_.Weight();
  const bool divides =
      cost.experts == 0 || weight == nullptr || weight->shape.front() % cost.experts == 0;
  if ((cost.experts > 0) == (cost.used > 0) && cost.used <= cost.experts && divides) return;
  throw Error::Refusal(MarkText(where_, node.Mark()) +
                       "experts: needs used, at most as many, and weights of as many times the "
                       "same rows");
}

void YamlShape::ReadOperation(const YAML::Node& node) {
  GivenOperation given;
  ReadMap(node, "operations", where_,
          [&](const std::string& key, const YAML::Node& value) { ReadField(key, value, given); });
  if (given.cost.kind.empty()) {
    throw Error::Refusal(MarkText(where_, node.Mark()) +
                         "missing key 'kind': " + Join(kKinds, ", "));
  }
  CheckExperts(node, given.cost);
  if (given.cost.kind == "attention") {
    AddAttention(node, given);
  } else {
    AddProduct(given);
  }
  given.cost.forward_flops = 2 * given.multiply_adds.value_or(0);
  given.cost.forward_bytes = given.bytes.value_or(0);
  given.cost.weight_bytes = given.weight_bytes.value_or(
      HasWeightsToRead(given.cost.kind) ? kShapeFloat * builder_.Elements() : 0);
  given.cost.block = block_;
  builder_.AddOperation(std::move(given.cost));
}

// Repeated blocks are written once. The names of block i begin with the prefix and "i."; those of
// a second kind are counted on.
void YamlShape::ReadBlocks(const YAML::Node& node) {
  int64_t count = 0;
  std::string prefix;
  ReadMap(node, "blocks", where_, [&](const std::string& key, const YAML::Node& value) {
    if (key == "blocks") {
      count = WholeOf(value, key, 1, kMostBlocks);
    } else if (key == "prefix") {
      prefix = ScalarText(value, key);
    } else if (key != "operations") {
      throw Error::Refusal("unknown key '" + key + "'; allowed: blocks, prefix, operations");
    }
  });
  for (int64_t i = 0; i < count; ++i) {
    block_ = blocks_++;
    prefix_ = prefix + std::to_string(block_) + ".";
    ReadOperations(node["operations"]);
  }
  block_ = kNoBlock;
  prefix_.clear();
}

void YamlShape::ReadOperations(const YAML::Node& list) {
  if (!list.IsSequence()) throw Error::Refusal("operations: expected a list of operations");
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap() || !entry["blocks"]) {
      ReadOperation(entry);
    } else if (block_ == kNoBlock) {
      ReadBlocks(entry);
    } else {
      throw Error::Refusal(MarkText(where_, entry.Mark()) + "blocks: they hold no other blocks");
    }
  }
}

void YamlShape::ReadHeader(const std::string& key, const YAML::Node& value) {
  ModelShape& shape = builder_.shape();
  if (key == "name") {
    shape.name = ScalarText(value, key);
  } else if (key == "title") {
    shape.title = ScalarText(value, key);
  } else if (key == "source") {
    shape.source = ScalarText(value, key);
  } else if (key == "sample") {
    shape.sample = ScalarText(value, key);
  } else if (key == "note") {
    shape.note = ScalarText(value, key);
  } else if (key == "batch") {
    shape.batch = static_cast<int>(WholeOf(value, key, 1, kMostBatch));
  } else if (key == "batch_source") {
    shape.batch_source = ScalarText(value, key);
  } else if (key == "operations") {
    ReadOperations(value);
  } else if (key != "elements" && key != "tensors" && key != "multiply_adds" && key != "tokens") {
    throw Error::Refusal(
        "unknown key '" + key +
        "'; allowed: name, title, source, sample, note, batch, batch_source, tokens, elements, "
        "tensors, multiply_adds, operations");
  }
}

void YamlShape::ReadTokens() {
  const YAML::Node given = root_.IsMap() ? root_["tokens"] : YAML::Node();
  if (!given) {
    if (tokens_ > 0) {
      throw Error(where_ + ": tokens", std::to_string(tokens_), "none: its samples have no tokens");
    }
    return;
  }
  const int64_t usual = ParseInteger(ScalarText(given, "tokens"),
                                     MarkText(where_, given.Mark()) + "tokens", 1, kMostTokens);
  own_tokens_ = tokens_ > 0 && tokens_ != usual;
  if (tokens_ == 0) tokens_ = usual;
  builder_.shape().tokens = tokens_;
}

// Checks that a count that the file states equals that of its operations.
void YamlShape::CheckCount(const char* key, double counted) const {
  const YAML::Node given = root_[key];
  if (!given) return;
  if (NumberOf(given, key) == counted) return;
  throw Error(MarkText(where_, given.Mark()) + key, given.Scalar(),
              fmt::format("{:.0f}, as its operations have", counted));
}

ModelShape YamlShape::Read() {
  ReadTokens();
  ReadMap(root_, "", where_,
          [&](const std::string& key, const YAML::Node& value) { ReadHeader(key, value); });
  ModelShape read = builder_.Take(where_);
  CheckCount("elements", static_cast<double>(read.Elements()));
  CheckCount("tensors", static_cast<double>(read.layers.size()));
  if (!own_tokens_) CheckCount("multiply_adds", read.MultiplyAdds());
  return read;
}

}  // namespace

ModelShape ReadYamlShape(const std::string& text, const std::string& where, int64_t tokens) {
  return YamlShape(text, where, tokens).Read();
}

}  // namespace legacy
