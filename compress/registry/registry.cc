// The tables of methods, whose rows are in the methods' own sources and are collected by CMake in
// legacy_rows.h, and the functions that make a method from text.
#include "compress/registry/registry.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/exchange.h"
#include "compress/options.h"
#include "compress/policies/legacy_schedule.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/dense_start.h"
#include "compress/schemes/owners/owned_slices.h"
#include "compress/schemes/residual_decay.h"
#include "compress/sparsifier.h"
#include "legacy_rows.h"

namespace legacy {

namespace {

// Returns a table with room for plugins' rows, so that it never moves.
template <typename Row>
std::vector<Row> WithRoom(std::vector<Row> rows) {
  rows.reserve(rows.size() + kMostAdded);
  return rows;
}

std::vector<SparsifierRow>& Sparsifiers() {
  static auto table = WithRoom(SparsifierRows());
  return table;
}

std::vector<QuantiserRow>& Quantisers() {
  static auto table = WithRoom(QuantiserRows());
  return table;
}

std::vector<CodecRow>& Codecs() {
  static auto table = WithRoom(CodecRows());
  return table;
}

std::vector<PolicyRow>& Policies() {
  static auto table = WithRoom(PolicyRows());
  return table;
}

}  // namespace

std::span<const SparsifierRow> SparsifierTable() { return Sparsifiers(); }

std::unique_ptr<Sparsifier> MakeSparsifier(const Stage& stage) {
  const SparsifierRow& row = FindRow("sparsifier", stage.name, SparsifierTable());
  return row.make(OptionReader(stage, row.info.options));
}

std::span<const QuantiserRow> QuantiserTable() { return Quantisers(); }

std::unique_ptr<Quantiser> MakeQuantiser(const Stage& stage) {
  const QuantiserRow& row = FindRow("quantiser", stage.name, QuantiserTable());
  return row.make(OptionReader(stage, row.info.options));
}

std::span<const CodecRow> CodecTable() { return Codecs(); }

namespace {

// Name of fp32 without a sparsifier.
constexpr const char* kDense = "dense";

template <typename Row>
const Row* Find(std::span<const Row> table, std::string_view name) {
  const auto row = std::ranges::find_if(table, [&](const Row& r) { return r.info.name == name; });
  return row == table.end() ? nullptr : &*row;
}

// Makes the quantiser after a sparsifier: the named one, otherwise the method's own, otherwise
// fp32.
std::unique_ptr<Quantiser> SecondStage(std::span<const Stage> stages,
                                       const Sparsifier& sparsifier) {
  const std::string own(sparsifier.Traits().own_quantiser);
  if (stages.size() == 1) return MakeQuantiser({own.empty() ? "fp32" : own});
  if (!own.empty() && stages[1].name != own) {
    throw Error("quantiser after " + FormatStages(stages.first(1)), stages[1].name, own);
  }
  return MakeQuantiser(stages[1]);
}

std::unique_ptr<Codec> MakeSparseCodec(std::span<const Stage> stages) {
  Stage first = stages.front();
  const MethodInfo info = CodecInfo(first.name);
  const std::optional<IndexCoding> index =
      ParseIndexCoding(OptionReader(first, info.options).Text(IndexOption().name));
  first.options.erase(IndexOption().name);
  std::unique_ptr<Sparsifier> sparsifier = MakeSparsifier(first);
  if (index && sparsifier->Traits().shared_support) {
    throw Error("index coding with codec " + first.name + ": it sends no positions");
  }
  std::unique_ptr<Quantiser> quantiser = SecondStage(stages, *sparsifier);
  return std::make_unique<SparseCodec>(std::move(sparsifier), std::move(quantiser), index);
}

}  // namespace

std::unique_ptr<Codec> MakeCodec(std::span<const Stage> stages) {
  if (stages.size() > 2) {
    throw Error("codec", FormatStages(stages),
                "one stage, or two: a sparsifier or transform + a quantiser");
  }
  const Stage& first = stages.front();
  if (Find(SparsifierTable(), first.name) != nullptr) return MakeSparseCodec(stages);
  const CodecRow* row = Find(CodecTable(), first.name);
  const auto names = CodecNames();
  if (std::ranges::find(names, first.name) == names.end()) {
    ThrowUnknown("codec", first.name, names);
  }
  if (stages.size() > 1 && !(row != nullptr && row->takes_quantiser)) {
    throw Error("codec", FormatStages(stages), "no second stage: " + first.name + " takes none");
  }
  if (row != nullptr) return row->make(stages);
  Stage alone = first;
  if (alone.name == kDense) alone.name = "fp32";
  return std::make_unique<QuantiserCodec>(MakeQuantiser(alone));
}

std::unique_ptr<Codec> MakeCodec(std::string_view text) { return MakeCodec(ParseStages(text)); }

std::vector<std::string> CodecNames() {
  std::vector<std::string> names = {kDense};
  for (const QuantiserRow& row : QuantiserTable()) {
    if (row.info.name != "fp32") names.push_back(row.info.name);
  }
  for (const SparsifierRow& row : SparsifierTable()) names.push_back(row.info.name);
  for (const CodecRow& row : CodecTable()) names.push_back(row.info.name);
  return names;
}

MethodInfo CodecInfo(const std::string& name) {
  const MethodInfo* info = nullptr;
  const auto look = [&](auto table, std::string_view wanted) {
    if (const auto* row = Find(table, wanted)) info = &row->info;
  };
  look(SparsifierTable(), name);
  if (name != "fp32") look(QuantiserTable(), name == kDense ? "fp32" : name);
  look(CodecTable(), name);
  if (info == nullptr) ThrowUnknown("codec", name, CodecNames());
  MethodInfo found = *info;
  found.name = name;
  if (Find(SparsifierTable(), name) != nullptr) found.options.push_back(IndexOption());
  return found;
}

namespace {

// Throws Error for an option that the first stage of a scheme does not take, and names all those
// that it takes. Unknown names are left to the search for a scheme.
void CheckOptions(const Stage& stage) {
  std::vector<OptionSpec> known = {DenseStartOption(), ResidualDecayOption()};
  const auto add = [&known](std::span<const OptionSpec> options) {
    known.insert(known.end(), options.begin(), options.end());
  };
  const auto codecs = CodecNames();
  if (const SchemeRow* scheme = Find(SchemeTable(), stage.name)) {
    add(scheme->info.options);
  } else if (std::ranges::find(codecs, stage.name) != codecs.end()) {
    add(CodecInfo(stage.name).options);
    add(CodecSchemeOptionSpecs());
  } else {
    return;
  }
  add(OwnedSlicesOptions());
  OptionReader(stage, known);
}

// Removes the options that belong to the scheme from the codec's first stage. Throws Error if codec
// and scheme have an option of the same name, given or not, because it would be ambiguous.
CodecSchemeOptions TakeOptions(Stage& stage, const SchemeOptions& options) {
  Stage own{.name = stage.name};
  const MethodInfo codec = CodecInfo(stage.name);
  for (const OptionSpec& spec : CodecSchemeOptionSpecs()) {
    if (std::ranges::find(codec.options, spec.name, &OptionSpec::name) != codec.options.end()) {
      throw Error("option of codec " + codec.name, spec.name, "names that no scheme's option has");
    }
    if (auto node = stage.options.extract(spec.name)) own.options.insert(std::move(node));
  }
  return ReadCodecSchemeOptions(OptionReader(own, CodecSchemeOptionSpecs()), options);
}

// Removes options that all schemes have from the first stage.
Stage Take(std::span<const OptionSpec> options, Stage& stage) {
  Stage own{.name = stage.name};
  for (const OptionSpec& option : options) {
    if (auto node = stage.options.extract(option.name)) own.options.insert(std::move(node));
  }
  return own;
}

int64_t TakeDenseStart(Stage& stage) {
  const OptionSpec& option = DenseStartOption();
  const Stage own = Take({&option, 1}, stage);
  return OptionReader(own, {&option, 1}).Integer(option.name, 0, int64_t{1} << 53);
}

double TakeResidualDecay(Stage& stage) {
  const OptionSpec& option = ResidualDecayOption();
  const Stage own = Take({&option, 1}, stage);
  return OptionReader(own, {&option, 1}).Number(option.name, 0, 1);
}

Cut TakeCut(Stage& stage) {
  const Stage own = Take(OwnedSlicesOptions(), stage);
  return ReadCut(OptionReader(own, OwnedSlicesOptions()));
}

std::unique_ptr<Scheme> MakePlainScheme(std::vector<Stage> stages, const SchemeOptions& options) {
  for (const SchemeRow& row : SchemeTable()) {
    if (row.info.name != stages.front().name) continue;
    const OptionReader own(stages.front(), row.info.options);
    return row.make(own, std::span(stages).subspan(1), options);
  }
  const auto names = SchemeNames();
  if (std::ranges::find(names, stages.front().name) == names.end()) {
    ThrowUnknown("scheme", stages.front().name, names);
  }
  const CodecSchemeOptions own = TakeOptions(stages.front(), options);
  return MakeCodecScheme(MakeCodec(stages), own);
}

}  // namespace

std::unique_ptr<Scheme> MakeScheme(std::string_view text, const SchemeOptions& options) {
  std::vector<Stage> stages = ParseStages(text);
  CheckOptions(stages.front());
  SchemeOptions all = options;
  all.dense_start = TakeDenseStart(stages.front());
  all.residual_decay = TakeResidualDecay(stages.front());
  const Cut cut = TakeCut(stages.front());
  std::unique_ptr<Scheme> scheme = MakePlainScheme(std::move(stages), all);
  CheckResidualDecay(*scheme, all.residual_decay);
  return WithOwners(WithDenseStart(std::move(scheme), all.dense_start), cut);
}

std::span<const SchemeRow> SchemeTable() {
  static const std::vector<SchemeRow> table = SchemeRows();
  return table;
}

std::vector<std::string> SchemeNames() {
  auto names = CodecNames();
  for (const SchemeRow& row : SchemeTable()) names.push_back(row.info.name);
  return names;
}

std::span<const PolicyRow> PolicyTable() { return Policies(); }

std::unique_ptr<Policy> MakePolicy(std::string_view text, const PolicyContext& context) {
  const std::vector<Stage> stages = ParseStages(text);
  if (stages.size() > 1) throw Error("policy", std::string(text), "one name with options");
  const PolicyRow& row = FindRow("policy", stages.front().name, PolicyTable());
  return row.make(OptionReader(stages.front(), row.info.options), context);
}

namespace {

void CheckNew(const MethodInfo& info, const std::vector<std::string>& taken, bool makes,
              size_t room) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (info.name.empty() || info.name.find_first_not_of(kLetters) != std::string::npos) {
    throw Error("name of a method", info.name, "letters a to z, digits and '-'");
  }
  if (std::ranges::find(taken, info.name) != taken.end()) {
    throw Error("name of a method", info.name, "names that no other method has");
  }
  if (!makes) throw Error("method " + info.name + ": its row has no `make`");
  if (room == 0) {
    throw Error("method " + info.name + ": plugins may add " + std::to_string(kMostAdded) +
                " methods to a table, and these are added already");
  }
}

// Appends `row`, so that its methods know their plugin. Returns its name.
template <typename Row>
std::string Append(Row row, std::vector<Row>& table, const std::vector<std::string>& taken,
                   const std::string& plugin) {
  CheckNew(row.info, taken, static_cast<bool>(row.make), table.capacity() - table.size());
  row.make = [make = std::move(row.make), plugin, name = row.info.name](auto&&... arguments) {
    auto method = make(std::forward<decltype(arguments)>(arguments)...);
    if (method == nullptr) throw Error("plugin " + plugin + ": " + name + ": `make` returned null");
    method->SetPlugin(plugin);
    return method;
  };
  return table.emplace_back(std::move(row)).info.name;
}

std::vector<std::string>& CodecsAdded() {
  static std::vector<std::string> names;
  return names;
}
std::vector<std::string>& PoliciesAdded() {
  static std::vector<std::string> names;
  return names;
}

// Returns all names with which codecs and schemes are written.
std::vector<std::string> TakenNames() {
  std::vector<std::string> names = SchemeNames();
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names = LegacyPolicyNames();
  for (const PolicyRow& row : PolicyTable()) names.push_back(row.info.name);
  return names;
}

}  // namespace

void MethodTables::Add(SparsifierRow row) const {
  CodecsAdded().push_back(Append(std::move(row), Sparsifiers(), TakenNames(), plugin_));
}
void MethodTables::Add(QuantiserRow row) const {
  CodecsAdded().push_back(Append(std::move(row), Quantisers(), TakenNames(), plugin_));
}
void MethodTables::Add(CodecRow row) const {
  CodecsAdded().push_back(Append(std::move(row), Codecs(), TakenNames(), plugin_));
}
void MethodTables::Add(PolicyRow row) const {
  if (row.make) {
    row.make = [make = std::move(row.make)](const OptionReader& options,
                                            const PolicyContext& context) {
      std::unique_ptr<Policy> policy = make(options, context);
      if (policy) policy->SetRange(context.scheme->Parameter());
      return policy;
    };
  }
  PoliciesAdded().push_back(Append(std::move(row), Policies(), PolicyNames(), plugin_));
}

std::vector<std::string> AddedCodecs() { return CodecsAdded(); }
std::vector<std::string> AddedPolicies() { return PoliciesAdded(); }

}  // namespace legacy
