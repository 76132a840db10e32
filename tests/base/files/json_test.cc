#include "base/files/json.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/message_of.h"

namespace legacy::json_test {
namespace {

std::string Nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') +
         std::string(static_cast<size_t>(levels), ']');
}

TEST(Json, DeepTextIsRefusedBeforeItIsParsed) {
  EXPECT_NO_THROW(ParseJson(Nested(kMostJsonDepth), "f"));
  const std::string refusal = "f: byte 65: nested deeper than 64 levels";
  EXPECT_EQ(MessageOf([] { ParseJson(Nested(kMostJsonDepth + 1), "f"); }), refusal);
  EXPECT_EQ(MessageOf([] { ParseOrderedJson(Nested(1'000'000), "f"); }), refusal);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(MessageOf([&] { ParseJson(objects, "f"); }).find("nested deeper"), std::string::npos);
}

TEST(Json, NoKeyIsGivenTwice) {
  for (const auto& parse : {std::function([](const char* text) { ParseJson(text, "f"); }),
                            std::function([](const char* text) { ParseOrderedJson(text, "f"); })}) {
    EXPECT_EQ(MessageOf([&] { parse(R"({"a": 1, "b": [{"c": 1}, {"d": 1, "d": 1}]})"); }),
              "f: key \"d\" is given twice in one object");
    EXPECT_EQ(MessageOf([&] { parse(R"({"\u0061": {}, "a": {}})"); }),
              "f: key \"a\" is given twice in one object");
    EXPECT_NO_THROW(parse(R"({"a": ":", "b:": {"a": "\":"}, "c": [{"a": 1}, {"a": 1}]})"));
  }
}

TEST(Json, BracketsInStringsAreText) {
  const std::string text = R"(["\\", "\"[[[", ")" + std::string(1000, '[') + "\"]";
  EXPECT_EQ(ParseJson(text, "f").at(2), std::string(1000, '['));
}

TEST(Json, MalformedTextNamesThePosition) {
  EXPECT_EQ(MessageOf([] { ParseJson("{\"a\": }", "f"); }), "f: byte 7: not valid JSON");
  EXPECT_EQ(MessageOf([] { ParseJson("", "f"); }), "f: byte 1: not valid JSON");
  EXPECT_EQ(MessageOf([] { ParseJson("\"\xff\"", "f"); }), "f: byte 2: not valid JSON");
  EXPECT_EQ(MessageOf([] { ParseJson("[1e999]", "f"); }), "f: a number in it is too large");
  // The parser would take a NUL for the end of the text.
  for (const std::string& text : {std::string("0\0{\"a\": 1}", 10), std::string("\"\0\"", 3)}) {
    EXPECT_EQ(MessageOf([&] { ParseJson(text, "f"); }), "f: byte 2: not valid JSON");
  }
}

TEST(Json, OrderedObjectsKeepTheirOrder) {
  EXPECT_EQ(ParseOrderedJson(R"({"b":1,"a":2})", "f").dump(), R"({"b":1,"a":2})");
}

TEST(Json, WholeNumbersAreNeverCut) {
  const auto error = [](const char* text) {
    return MessageOf([&] { WholeNumber(ParseJson(text, "f"), "n", 1, 1000); });
  };
  EXPECT_EQ(WholeNumber(nlohmann::json(1000), "n", 1, 1000), 1000);
  EXPECT_EQ(WholeNumber(nlohmann::json(INT64_MIN), "n", INT64_MIN, INT64_MAX), INT64_MIN);
  for (const char* text :
       {"0", "1001", "4294967300", "18446744073709551615", "1.0", "\"1\"", "[1]"}) {
    EXPECT_NE(error(text).find("allowed: a whole number from 1 to 1000"), std::string::npos)
        << text;
  }
  EXPECT_NE(error("[1]").find("got 'array'"), std::string::npos);
}

}  // namespace
}  // namespace legacy::json_test