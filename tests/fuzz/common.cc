#include <map>
#include <sstream>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/exchange.h"
#include "compress/options.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/sparsifier.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

// Returns those of `texts` that can be made, as not every sparsifier takes every quantiser.
template <typename Make>
std::vector<std::string> Possible(const std::vector<std::string>& texts, Make make) {
  std::vector<std::string> possible;
  for (const std::string& text : texts) {
    try {
      make(text);
      possible.push_back(text);
    } catch (const Error&) {
    }
  }
  return possible;
}

// Returns the method's text: the options of `own`, and those of `settings` that the method has.
std::string TextOf(const MethodInfo& info, Stage own,
                   const std::map<std::string, std::string>& settings) {
  for (const OptionSpec& option : info.options) {
    const auto setting = settings.find(option.name);
    if (setting != settings.end()) own.options.insert(*setting);
  }
  return FormatStages({&own, 1});
}

// Returns the method at its defaults, and with every option at each of the words that it allows.
std::vector<std::string> Variants(const MethodInfo& info,
                                  const std::map<std::string, std::string>& settings = {}) {
  std::vector<std::string> texts = {TextOf(info, {.name = info.name}, settings)};
  for (const OptionSpec& option : info.options) {
    std::istringstream words(option.allowed);
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      if (word == option.fallback || word.find(' ') != std::string::npos) continue;
      texts.push_back(
          TextOf(info, {.name = info.name, .options = {{option.name, word}}}, settings));
    }
  }
  return texts;
}

template <typename Row>
void AddVariants(std::span<const Row> table, std::vector<std::string>& texts) {
  for (const Row& row : table) {
    for (std::string& text : Variants(row.info)) texts.push_back(std::move(text));
  }
}

std::vector<std::string> Composed() {
  std::vector<std::string> texts = CodecNames();
  AddVariants(SparsifierTable(), texts);
  AddVariants(QuantiserTable(), texts);
  for (const std::string& first : CodecNames()) {
    for (const QuantiserRow& second : QuantiserTable()) {
      texts.push_back(first + "+" + second.info.name);
    }
    for (const char* coding : {"u16", "u32", "bitmap", "packed", "delta"}) {
      texts.push_back(first + ":index=" + coding);
    }
  }
  return texts;
}

std::vector<std::string> Exchanged() {
  std::vector<std::string> texts;
  AddVariants(SchemeTable(), texts);
  AddVariants(QuantiserTable(), texts);
  for (const std::string& name : SchemeNames()) {
    const std::vector<OptionSpec> options(CodecSchemeOptionSpecs().begin(),
                                          CodecSchemeOptionSpecs().end());
    for (std::string& text :
         Variants({.name = name, .help = "", .paper = "", .options = options})) {
      texts.push_back(std::move(text));
    }
    texts.push_back(name + "+fp16");
  }
  return texts;
}

}  // namespace

const std::vector<std::string>& CodecTexts() {
  static const std::vector<std::string> texts =
      Possible(Composed(), [](const std::string& text) { MakeCodec(text); });
  return texts;
}

const std::vector<std::string>& SchemeTexts() {
  static const std::vector<std::string> texts =
      Possible(Exchanged(), [](const std::string& text) { MakeScheme(text); });
  return texts;
}

// Policies decide every few steps, from small tables.
const std::vector<std::string>& PolicyTexts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (const PolicyRow& row : PolicyTable()) {
      for (std::string& text : Variants(row.info, {{"steps", "100"},
                                                   {"period", "1"},
                                                   {"start", "1"},
                                                   {"interval_steps", "1"},
                                                   {"window", "2"}})) {
        all.push_back(std::move(text));
      }
    }
    return all;
  }();
  return texts;
}

Bytes Tampered(Bytes message, Input& input) {
  const uint32_t kind = input.Take(1) % 6;
  if (kind == 1 || kind == 2) {
    for (uint32_t i = 0; i < kind && !message.empty(); ++i) {
      const uint32_t at = input.Below(static_cast<uint32_t>(message.size()));
      message[at] ^= static_cast<std::byte>(input.Take(1));
    }
  }
  if (kind == 3) message.resize(input.Below(static_cast<uint32_t>(message.size()) + 1));
  if (kind == 4) message.resize(message.size() + input.Take(1));
  if (kind == 5) {
    message.resize(input.Take(1));
    for (std::byte& byte : message) byte = static_cast<std::byte>(input.Take(1));
  }
  return message;
}

}  // namespace legacy::fuzz
