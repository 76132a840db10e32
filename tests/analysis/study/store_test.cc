#include "analysis/study/store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/analysis/study/store_fixture.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::store_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST_F(StudyStoreTest, EveryFieldReadsBackToTheLastBit) {
  const Study pending = AwkwardStudy();
  const Study done = DoneAwkwardStudy();
  {
    StudyStore store = StudyStore::Create(file_, pending);
    ExpectSame(store.Read(), pending);
    store.Put(done.points);
    store.Put(done.trainings);
    ExpectSame(store.Read(), done);
  }
  ExpectSame(StudyStore::Open(file_).Read(), done);
}

TEST_F(StudyStoreTest, AStudyWithoutTargetAndAxesReadsBack) {
  Study study = AwkwardStudy();
  study.target.reset();
  study.axes.clear();
  study.points.clear();
  ExpectSame(StudyStore::Create(file_, study).Read(), study);
}

TEST_F(StudyStoreTest, EachMetricOfTheCurvesHasAColumn) {
  StudyStore::Create(file_, DoneAwkwardStudy());
  const Cell null;
  EXPECT_EQ(Rows("SELECT test_accuracy, test_perplexity FROM curves WHERE point = 2 AND step = 20"),
            (std::vector<std::vector<Cell>>{{null, INFINITY}}));
  EXPECT_EQ(Rows("SELECT target_metric, target FROM study"),
            (std::vector<std::vector<Cell>>{{std::string("perplexity"), 0.1 + 0.2}}));
  Study study = AwkwardStudy();
  study.target = Target{"top5", 0.9};
  EXPECT_THAT(ErrorOf([&] { StudyStore::Create(directory_ / "other.sqlite", study); }),
              HasSubstr("target: got 'top5'; allowed: a metric of the task: accuracy, perplexity"));
}

TEST_F(StudyStoreTest, AMadeUpStudyIsCreatedWithItsResults) {
  const Study study = MakeStudy();
  ExpectSame(StudyStore::Create(file_, study).Read(), study);
}

TEST_F(StudyStoreTest, MissingValuesAreNull) {
  StudyStore::Create(file_, DoneAwkwardStudy());
  const Cell null;
  const std::string figures =
      "time_to_target, steps_to_target, egress_usd, final_metric, busiest_link";
  const auto row = [&](int id) {
    return Rows("SELECT " + figures + " FROM points WHERE id = " + std::to_string(id)).at(0);
  };
  EXPECT_EQ(row(0), std::vector<Cell>(5, null));   // failed
  EXPECT_EQ(row(1), std::vector<Cell>(5, null));   // pending
  EXPECT_EQ(std::ranges::count(row(2), null), 4);  // not reached: no prices, no evaluations
  EXPECT_EQ(std::ranges::count(row(3), null), 0);
  EXPECT_EQ(Rows("SELECT test_loss FROM curves WHERE point = 2"),
            (std::vector<std::vector<Cell>>{
                {null}, {INFINITY}, {DoneAwkwardStudy().points[2].curve[2].test_loss}}));
}

TEST_F(StudyStoreTest, AxesHaveTheirTextsAndNumbersInThePoints) {
  StudyStore::Create(file_, AwkwardStudy());
  using Text = std::string;
  EXPECT_EQ(Rows("SELECT policy, seed, bandwidth, bandwidth_number, \"order\" FROM points "
                 "WHERE id IN (0, 7)"),
            (std::vector<std::vector<Cell>>{
                {Text("top,k \"1%\""), int64_t{7}, Text("1Gbps"), 1e9, Text("b")},
                {Text("top,k \"1%\""), int64_t{9223372036854775807}, Text("10Mbps"), 1e7 / 3,
                 Text("a")}}));
  EXPECT_EQ(Rows("SELECT name FROM pragma_table_info('points') WHERE name = 'order_number'").size(),
            0u);
}

TEST_F(StudyStoreTest, TheViewOfCurvesSaysWhatEachIsOf) {
  const Study study = DoneAwkwardStudy();
  StudyStore::Create(file_, study);
  const auto rows = Rows(
      "SELECT policy, bandwidth_number, \"order\", test_accuracy FROM point_curves "
      "WHERE point = 15 AND step = 20");
  EXPECT_EQ(rows, (std::vector<std::vector<Cell>>{{std::string("dense"), 1e7 / 3, std::string("a"),
                                                   study.points[15].curve[1].metrics[0]}}));
}

TEST_F(StudyStoreTest, ContentDoesNotDependOnTheOrderOfResults) {
  const Study done = DoneAwkwardStudy();
  const auto content = [&] {
    std::vector<std::vector<std::vector<Cell>>> tables;
    for (const char* table : {"study", "axes", "trainings", "points", "curves"}) {
      tables.push_back(Rows(std::string("SELECT * FROM ") + table));
    }
    return tables;
  };
  {
    StudyStore store = StudyStore::Create(file_, AwkwardStudy());
    store.Put(done.points);
    store.Put(done.trainings);
  }
  const auto at_once = content();
  std::filesystem::remove(file_);
  {
    StudyStore store = StudyStore::Create(file_, AwkwardStudy());
    for (size_t i = done.trainings.size(); i-- > 0;) store.Put({done.trainings[i]});
    for (size_t i = done.points.size(); i-- > 0;) {
      // An earlier result is put first, which the later one replaces.
      StudyPoint other = DonePoint(done.points[i]);
      other.curve.resize(2);
      store.Put({other});
      Forget(other, "failed at first");
      store.Put({other});
      store.Put({done.points[i]});
    }
  }
  EXPECT_EQ(content(), at_once);
}

TEST_F(StudyStoreTest, UnknownIdsAreRefusedWithAllThatCameWithThem) {
  StudyStore store = StudyStore::Create(file_, AwkwardStudy());
  std::vector<StudyPoint> points = {DonePoint(AwkwardStudy().points[5]), StudyPoint()};
  points[1].id = 16;
  EXPECT_EQ(ErrorOf([&] { store.Put(points); }),
            file_.string() + ": point: got '16'; allowed: the id of a point of the study");
  StudyTraining training;
  training.id = "t0";
  EXPECT_EQ(ErrorOf([&] { store.Put({training}); }),
            file_.string() + ": training: got 't0'; allowed: the id of a training of the study");
  ExpectSame(store.Read(), AwkwardStudy());
  store.Put({points[0]});  // the store still works
  ExpectSame(store.Read().points[5], points[0]);
}

TEST_F(StudyStoreTest, ACurveWithAStepTwiceIsRefused) {
  StudyStore store = StudyStore::Create(file_, AwkwardStudy());
  StudyPoint point = DonePoint(AwkwardStudy().points[5]);
  point.curve.push_back(point.curve.back());
  EXPECT_THAT(ErrorOf([&] { store.Put({point}); }), HasSubstr("curves.point, curves.step"));
  ExpectSame(store.Read(), AwkwardStudy());
}

TEST_F(StudyStoreTest, AxesThatCannotBeColumnsAreRefused) {
  const auto error = [&](const std::string& name) {
    Study study = AwkwardStudy();
    study.axes[1].name = name;
    return ErrorOf([&] { StudyStore::Create(file_, study); });
  };
  for (const char* name : {"", "Order", "1st", "a-b", "a b", "a\"b", "é"}) {
    EXPECT_EQ(error(name), "axis: got '" + std::string(name) +
                               "'; allowed: small letters, digits and _, the first a letter");
  }
  for (const char* name : {"id", "policy", "seed", "training", "state", "message", "steps",
                           "busiest_link", "bandwidth", "bandwidth_number"}) {
    EXPECT_EQ(error(name), "axis: got '" + std::string(name) +
                               "'; allowed: a name that no other column of the points has");
  }
  EXPECT_THAT(error("step"), EndsWith("a name that no column of the curves has"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(StudyStoreTest, StudiesThatNoTableCanHoldAreRefused) {
  const auto error = [&](auto change) {
    Study study = AwkwardStudy();
    change(study);
    return ErrorOf([&] { StudyStore::Create(file_, study); });
  };
  EXPECT_EQ(error([](Study& s) { s.seeds[0] = 1ull << 63; }),
            "seed: got '9223372036854775808'; allowed: 0 to 9223372036854775807");
  EXPECT_EQ(error([](Study& s) { s.axes[0].values[1] = "1Gbps"; }),
            "axis bandwidth: got '1Gbps'; allowed: each value once");
  EXPECT_THAT(error([](Study& s) { s.axes[0].numbers.pop_back(); }), HasSubstr("got '1 numbers'"));
  EXPECT_THAT(error([](Study& s) { s.axes[0].numbers[0] = NAN; }), EndsWith("finite numbers"));
  EXPECT_THAT(error([](Study& s) { s.axes[1].values.clear(); }), EndsWith("one or more"));
  EXPECT_EQ(error([](Study& s) { s.points[3].values[1] = "c"; }),
            "axis order: got 'c'; allowed: b, a");
  EXPECT_EQ(error([](Study& s) { s.points[3].id = 4; }),
            "point: got '4'; allowed: id 3, its position");
  EXPECT_THAT(error([](Study& s) { s.points[3].training = "t0"; }), HasSubstr("FOREIGN KEY"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(error([](Study&) {}), "no error");  // the failures have no after-effects
}

TEST_F(StudyStoreTest, AFileIsNotReplaced) {
  StudyStore::Create(file_, AwkwardStudy());
  EXPECT_EQ(ErrorOf([&] { StudyStore::Create(file_, MakeStudy()); }),
            "study database: got '" + file_.string() + "'; allowed: a file that is not there yet");
  ExpectSame(StudyStore::Open(file_).Read(), AwkwardStudy());
}

TEST_F(StudyStoreTest, OtherDatabasesAreRefusedByName) {
  const auto error = [&] { return ErrorOf([&] { StudyStore::Open(file_).Read(); }); };
  const std::string path = file_.string();
  EXPECT_EQ(error(), "study database: got '" + path + "'; allowed: a file that legacy-study wrote");
  Put("study.sqlite", std::string(1000, 'x'));
  EXPECT_EQ(error(), path + ": file is not a database");
  std::filesystem::remove(file_);
  Execute("CREATE TABLE points (id)");
  EXPECT_EQ(error(), path + ": no such table: study");
  Execute("CREATE TABLE study (format)");
  EXPECT_EQ(error(), path + ": no row in table study");
  Execute("INSERT INTO study VALUES (1)");
  EXPECT_EQ(error(), path +
                         ": a study's database of another format than 3: read it with the version "
                         "of legacy-study that wrote it, or run the study again");
}

TEST_F(StudyStoreTest, DatabasesOfEarlierVersionsHaveNoFiguresOfRoce) {
  Study study = DoneAwkwardStudy();
  StudyStore::Create(file_, study);
  RoceFigures none;
  RoceFigures::Columns(none, [&](const std::string& name, const char*, const auto&) {
    Execute("ALTER TABLE points DROP COLUMN " + name);
  });
  StudyStore store = StudyStore::Open(file_);
  for (StudyPoint& point : study.points) point.figures.roce = none;
  ExpectSame(store.Read(), study);
  StudyPoint& again = study.points[15];
  again.figures.roce = {3, .25, 4, 5, 6, 7, 800, .5};
  store.Put({again});
  ExpectSame(store.Read(), study);
}

TEST_F(StudyStoreTest, DamageIsAnErrorThatNamesTheFile) {
  const auto error = [&](const std::string& sql) {
    std::filesystem::remove(file_);
    StudyStore::Create(file_, DoneAwkwardStudy());
    Execute("PRAGMA foreign_keys = OFF; " + sql);
    return ErrorOf([&] { StudyStore::Open(file_).Read(); });
  };
  const std::string path = file_.string() + ": ";
  EXPECT_EQ(error("UPDATE points SET bandwidth_number = 1"), "no error");
  EXPECT_EQ(error("UPDATE points SET steps = 'many' WHERE id = 4"),
            path + "column 'steps': not of its type");
  EXPECT_EQ(error("DELETE FROM points WHERE id = 4"),
            path + "point: got '5'; allowed: id 4, its position");
  EXPECT_THAT(error("UPDATE study SET seeds = '[1'"), HasSubstr(path + "seeds: byte 3: "));
  EXPECT_THAT(error("UPDATE axes SET axis = 'a\" FROM x'"), HasSubstr(path + "axis: got"));
  EXPECT_THAT(error("INSERT INTO curves (point, step) VALUES (99, 1)"),
              HasSubstr(path + "damaged: "));
}

TEST_F(StudyStoreTest, AFolderThatMayNotBeWrittenCanBeRead) {
  StudyStore::Create(file_, DoneAwkwardStudy());
  ASSERT_EQ(chmod(file_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0555), 0);
  const bool root = geteuid() == 0;  // root may write everywhere
  if (root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  const std::string created =
      ErrorOf([&] { StudyStore::Create(directory_ / "other.sqlite", AwkwardStudy()); });
  std::string put;
  std::string read = ErrorOf([&] {
    StudyStore store = StudyStore::Open(file_);
    ExpectSame(store.Read(), DoneAwkwardStudy());
    put = ErrorOf([&] { store.Put({DonePoint(AwkwardStudy().points[0])}); });
  });
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  EXPECT_EQ(read, "no error");
  EXPECT_EQ(put, file_.string() + ": attempt to write a readonly database");
  EXPECT_THAT(created, HasSubstr("other.sqlite.tmp: unable to open database file"));
}

}  // namespace
}  // namespace legacy::analysis::store_test