// A folder for a database, queries of its tables, and comparisons of studies.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/study/sqlite.h"
#include "analysis/study/store.h"
#include "tests/analysis/fixture.h"
#include "tests/analysis/study/awkward_study.h"

namespace legacy::analysis {

class StudyStoreTest : public RunDirectoryTest {
 protected:
  void SetUp() override {
    RunDirectoryTest::SetUp();
    file_ = directory_ / "study.sqlite";
  }

  // Returns all rows of a query.
  std::vector<std::vector<Cell>> Rows(const std::string& query) const {
    SqliteFile file(file_, SqliteFile::Mode::kExisting);
    SqliteStatement statement(file, query);
    std::vector<std::vector<Cell>> rows;
    while (statement.Step()) rows.push_back(statement.Row());
    return rows;
  }
  void Execute(const std::string& sql) const {
    SqliteFile(file_, SqliteFile::Mode::kCreate).Execute(sql);
  }

  std::filesystem::path file_;
};

inline void ExpectSame(const StudyTraining& a, const StudyTraining& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.policy, b.policy);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.replay_refused, b.replay_refused);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(a.configuration, b.configuration);
}

inline void ExpectSame(const StudyPoint& a, const StudyPoint& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.policy, b.policy);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.training, b.training);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(Difference(a.figures, b.figures), "") << "point " << a.id;
  ASSERT_EQ(a.curve.size(), b.curve.size()) << "point " << a.id;
  for (size_t i = 0; i < a.curve.size(); ++i) {
    EXPECT_EQ(Difference(a.curve[i], b.curve[i]), "") << "point " << a.id << " row " << i;
  }
}

inline void ExpectSame(const Study& a, const Study& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.definition, b.definition);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.metrics, b.metrics);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.policies, b.policies);
  EXPECT_EQ(a.seeds, b.seeds);
  ASSERT_EQ(a.axes.size(), b.axes.size());
  for (size_t i = 0; i < a.axes.size(); ++i) {
    EXPECT_EQ(a.axes[i].name, b.axes[i].name);
    EXPECT_EQ(a.axes[i].unit, b.axes[i].unit);
    EXPECT_EQ(a.axes[i].values, b.axes[i].values);
    EXPECT_EQ(a.axes[i].numbers, b.axes[i].numbers);
  }
  ASSERT_EQ(a.trainings.size(), b.trainings.size());
  for (size_t i = 0; i < a.trainings.size(); ++i) ExpectSame(a.trainings[i], b.trainings[i]);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (size_t i = 0; i < a.points.size(); ++i) ExpectSame(a.points[i], b.points[i]);
}

// Returns the message of the error that an action throws.
template <class Action>
std::string ErrorOf(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace legacy::analysis
