// A table of options: forms of rows, and the options of a part as those of the whole.
#include "base/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/option_forms.h"

namespace legacy::options_test {
namespace {

using namespace option_forms;

struct Wheel {
  Rate rate = "1Gbps";
  int spokes = 3;
  std::optional<int64_t> bolts;
  std::optional<double> share;
  double factor = 0.5;
  bool turns = false;
  std::vector<int64_t> sizes;
  GivenTime pause = "";
  std::string name = "front";
  std::vector<std::string> names;
};

void RefuseBlanks(const std::string& text, const std::string& key) {
  if (text.find(' ') != std::string::npos) throw Error(key, text, "one word");
}

OptionTable<Wheel> Rows() {
  return {
      Text<&Wheel::rate>("wheel.rate", "--wheel-rate", "RATE", "its rate"),
      Integer<&Wheel::spokes, 1, 9>("wheel.spokes", "--spokes", "its spokes") | kUsual,
      Integer<&Wheel::bolts, 1>("wheel.bolts", "--bolts", "its bolts"),
      Number<&Wheel::share>("wheel.share", "--share", "its share", 0, 1),
      Number<&Wheel::factor>("wheel.factor", "--factor", "its factor", 0.25, 4),
      Switch<&Wheel::turns>("wheel.turns", "--turns", "whether it turns"),
      Integers<&Wheel::sizes>("wheel.sizes", "--sizes", "its sizes"),
      Text<&Wheel::pause>("wheel.pause", "--pause", "TIME", "its pause"),
      Text<&Wheel::name, RefuseBlanks>("wheel.name", "--name", "NAME", "its name"),
  };
}

const Option<Wheel>& Row(const std::string& name) {
  static const OptionTable<Wheel> rows = Rows();
  return *std::ranges::find(rows, "wheel." + name, &Option<Wheel>::key);
}

std::string Refusal(const std::string& name, const std::string& text) {
  Wheel wheel;
  try {
    Row(name).set(wheel, "--key", text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Set reads back what get returns, for the defaults and after a change.
TEST(Options, TextsAreReadBack) {
  const std::pair<const char*, const char*> changes[] = {
      {"rate", "10 Gbps"}, {"spokes", "9"},   {"bolts", "1000000000000"},
      {"share", "0.125"},  {"factor", "4"},   {"turns", "on"},
      {"sizes", "3,1,2"},  {"pause", "20ms"}, {"name", "back"},
  };
  for (const auto& [name, text] : changes) {
    Wheel wheel, copy;
    const std::string first = Row(name).get(wheel);
    Row(name).set(wheel, "key", text);
    EXPECT_EQ(Row(name).get(wheel), text);
    Row(name).set(wheel, "key", first);
    EXPECT_EQ(Row(name).get(wheel), Row(name).get(copy)) << name;
  }
}

TEST(Options, NothingIsTheEmptyText) {
  Wheel wheel;
  EXPECT_EQ(Row("bolts").get(wheel), "");
  EXPECT_EQ(*wheel.pause, std::nullopt);
  Row("bolts").set(wheel, "key", "7");
  Row("share").set(wheel, "key", "0");
  Row("pause").set(wheel, "key", "3us");
  EXPECT_EQ(wheel.bolts, 7);
  EXPECT_EQ(wheel.share, 0.0);
  EXPECT_EQ(*wheel.pause, 3000);
  for (const char* name : {"bolts", "share", "pause"}) Row(name).set(wheel, "key", "");
  EXPECT_EQ(wheel.bolts, std::nullopt);
  EXPECT_EQ(wheel.share, std::nullopt);
  EXPECT_EQ(*wheel.pause, std::nullopt);
  EXPECT_NE(Refusal("spokes", ""), "");  // which is not an option without a value
}

TEST(Options, RefusalsNameTheKeyAndWhatIsAllowed) {
  EXPECT_EQ(Refusal("spokes", "10"), "--key: got '10'; allowed: an integer >= 1 and <= 9");
  EXPECT_EQ(Refusal("factor", "0.2"), "--key: got '0.2'; allowed: a number from 0.25 to 4");
  EXPECT_EQ(Refusal("bolts", "0").substr(0, 34), "--key: got '0'; allowed: an intege");
  EXPECT_EQ(Refusal("name", "a b"), "--key: got 'a b'; allowed: one word");
  for (const char* name : {"rate", "turns", "sizes", "pause", "share"}) {
    EXPECT_EQ(Refusal(name, "much").substr(0, 19), "--key: got 'much'; ") << name;
  }
}

TEST(Options, KindsAndPropertiesAndNames) {
  EXPECT_EQ(Row("rate").kind, OptionKind::kRate);
  EXPECT_EQ(Row("pause").kind, OptionKind::kTime);
  EXPECT_EQ(Row("bolts").kind, OptionKind::kInteger);
  EXPECT_EQ(Row("share").kind, OptionKind::kNumber);
  EXPECT_EQ(Row("name").kind, OptionKind::kText);
  EXPECT_TRUE(Row("spokes").Has(kUsual));
  EXPECT_FALSE(Row("rate").Has(kUsual));
  EXPECT_EQ(Row("rate").Name(), "wheel-rate");
  EXPECT_EQ(Row("rate").Group(), "wheel");
  const Option<Wheel> aliased = WithAlias(Row("rate"), "--speed");
  EXPECT_TRUE(aliased.IsCalled("speed") && aliased.IsCalled("wheel-rate"));
  EXPECT_FALSE(Row("rate").IsCalled("speed") || Row("rate").IsCalled(""));
  EXPECT_TRUE(aliased.HasKey("wheel.rate") && aliased.HasKey("wheel.speed"));
  EXPECT_TRUE(WithAlias(Row("rate"), "--top-speed").HasKey("wheel.top_speed"));
  EXPECT_FALSE(aliased.HasKey("speed") || Row("rate").HasKey("wheel.speed"));
  OptionTable<Wheel> rows = Rows();
  AddToAll(rows, kMayReplay);
  for (const Option<Wheel>& row : rows) EXPECT_TRUE(row.Has(kMayReplay));
  EXPECT_TRUE(rows[1].Has(kUsual));
}

TEST(Options, AreFoundByKeyAndFlag) {
  const OptionTable<Wheel> rows = {WithAlias(Row("rate"), "--speed"), Row("spokes")};
  EXPECT_EQ(FindOption(rows, "speed"), &rows[0]);
  EXPECT_EQ(FindOption(rows, "wheel.speed", OptionNames::kKeys), &rows[0]);
  EXPECT_EQ(FindOption(rows, "spokes", OptionNames::kKeys), nullptr);
  EXPECT_EQ(FindOption(rows, "wheel.spokes", OptionNames::kFlags), nullptr);
  EXPECT_EQ(&OptionOfFlag(rows, "--spokes"), &rows[1]);
  EXPECT_EQ(&OptionNamed(rows, "wheel.spokes", OptionNames::kBoth), &rows[1]);
  const auto refusal = [&](const std::string& name, OptionNames names, const char* where = "") {
    return std::string(UnknownOption(rows, name, names, where).what());
  };
  EXPECT_EQ(refusal("spoke", OptionNames::kFlags, "--grid"),
            "--grid: unknown option 'spoke'; did you mean spokes?; allowed: wheel-rate, spokes");
  EXPECT_EQ(refusal("wheel.spoke", OptionNames::kBoth),
            "unknown key 'wheel.spoke'; did you mean wheel.spokes?; allowed: wheel.rate, "
            "wheel.spokes");
  EXPECT_EQ(refusal("cart", OptionNames::kKeys), "unknown key 'cart'; allowed: wheel.*");
}

TEST(Options, GivenSeveralTimesOrWithoutAText) {
  const auto names = Repeated<&Wheel::names>("wheel.names", "--a-name", "NAME", "names");
  Wheel wheel;
  names.set(wheel, "key", "a,b");
  names.set(wheel, "key", "c");
  EXPECT_EQ(wheel.names, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_TRUE(names.Has(kRepeatable));
  const auto turns = Flag<&Wheel::turns>("wheel.turns", "--turns", "whether it turns");
  EXPECT_EQ(turns.metavar, "");
  turns.set(wheel, "key", "on");
  EXPECT_TRUE(wheel.turns);
}

struct Cart {
  std::optional<Wheel> wheel = Wheel();
};

struct Barrow : Wheel {
  int handles = 2;
};

TEST(Options, OfAPartAndOfABase) {
  const auto of_cart = OptionOfPart<Cart>(
      Row("spokes"), [](auto& cart) -> auto& { return *cart.wheel; });
  Cart cart;
  of_cart.set(cart, "key", "5");
  EXPECT_EQ(cart.wheel->spokes, 5);
  EXPECT_EQ(of_cart.get(cart), "5");
  EXPECT_EQ(of_cart.flag, "--spokes");
  EXPECT_TRUE(of_cart.Has(kUsual));
  const auto of_barrow = OptionOfPart<Barrow>(
      Row("rate"), [](auto& barrow) -> auto& { return barrow; });
  Barrow barrow;
  of_barrow.set(barrow, "key", "2kbps");
  EXPECT_EQ(*barrow.rate, 2000);
  EXPECT_EQ(of_barrow.kind, OptionKind::kRate);
}

}  // namespace
}  // namespace legacy::options_test
