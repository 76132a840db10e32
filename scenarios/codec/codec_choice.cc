#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "compress/options.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {
namespace {

bool IsFraction(const ParameterSpec& spec) {
  return !spec.integer && spec.minimum >= 0 && spec.maximum <= 1;
}

}  // namespace

std::optional<bool> ParseErrorFeedback(const std::string& text, const std::string& key) {
  if (ParseChoice(text, key, {"on", "off", "auto"}) == "auto") return std::nullopt;
  return text == "on";
}

double ParseParameter(const std::string& text, const ParameterSpec& spec,
                      const std::string& where) {
  if (spec.Kind() == ParameterKind::kNone)
    throw Error(where, text, "no parameter, as the codec has none");
  const std::optional<double> bare = ParseNumber(text);
  if (IsFraction(spec) && bare && *bare > 1) {
    throw Error(
        where + ": " + spec.name, text,
        "a percentage such as " + text + "% or a fraction such as " + FormatNumber(spec.fallback));
  }
  if (spec.Kind() == ParameterKind::kDensity) RefuseBareOne(text, where + ": " + spec.name);
  const Stage stage{.name = where, .options = {{spec.name, text}}};
  const OptionSpec option{.name = spec.name, .fallback = "", .allowed = "", .help = ""};
  const OptionReader reader(stage, {&option, 1});
  if (!spec.integer) return reader.Number(spec.name, spec.minimum, spec.maximum);
  return static_cast<double>(reader.Integer(spec.name, static_cast<int64_t>(spec.minimum),
                                            static_cast<int64_t>(spec.maximum)));
}

CodecChoice ParseCodec(const std::string& text, const std::string& parameter) {
  const size_t at = text.find('@');
  CodecChoice choice{.scheme = text.substr(0, at), .parameter = 0};
  const std::unique_ptr<Scheme> scheme = MakeScheme(choice.scheme);
  const ParameterSpec& spec = scheme->Parameter();
  choice.parameter = spec.fallback;
  if (at != std::string::npos) {
    choice.parameter = ParseParameter(text.substr(at + 1), spec, choice.scheme);
  } else if (!parameter.empty() && spec.Kind() != ParameterKind::kNone) {
    choice.parameter = ParseParameter(parameter, spec, choice.scheme);
  }
  return choice;
}

std::unique_ptr<Scheme> OpenScheme(const CodecChoice& codec, std::optional<bool> error_feedback,
                                   bool* feedback) {
  *feedback = error_feedback.value_or(true);
  std::unique_ptr<Scheme> scheme = MakeScheme(codec.scheme, {.error_feedback = *feedback});
  if (error_feedback) return scheme;
  const Unit one{.id = 0, .name = "one", .shape = {1}, .offset = 0, .numel = 1};
  try {
    scheme->Open(one, 1)->Begin({.parameter = codec.parameter});
    return scheme;
    // A scheme that throws for another reason throws again when it is used.
  } catch (const Error&) {
    *feedback = false;
    return MakeScheme(codec.scheme, {.error_feedback = false});
  }
}

}  // namespace legacy
