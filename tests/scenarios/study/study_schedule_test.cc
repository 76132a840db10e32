// The work that is left of a study, and its progress in words.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/error.h"
#include "scenarios/study/progress.h"
#include "scenarios/study/schedule.h"
#include "scenarios/study/shell.h"

namespace legacy::study_schedule_test {
namespace {

using analysis::StudyState;

// Pending trainings with the given numbers of points.
struct Work {
  explicit Work(const std::vector<size_t>& counts) {
    for (const size_t count : counts) {
      PlannedTraining training;
      for (size_t i = 0; i < count; ++i) {
        training.points.push_back(plan.points.size());
        plan.points.emplace_back().training = plan.trainings.size();
      }
      plan.trainings.push_back(training);
    }
    now.trainings.resize(plan.trainings.size());
    now.points.resize(plan.points.size());
  }
  WorkLeft Find(bool retry_failed = false, Share share = {}) const {
    return FindWork(
        plan, now, [this](size_t t) { return trained.count(t) > 0; }, share, 2, retry_failed);
  }

  StudyPlan plan;
  analysis::Study now;
  std::set<size_t> trained;
};

std::multiset<size_t> PointsOf(const WorkLeft& left) {
  std::multiset<size_t> points;
  for (const Piece& piece : left.pieces) points.insert(piece.points.begin(), piece.points.end());
  return points;
}

TEST(StudySchedule, SharesCoverAllWorkOnceWhateverIsDoneMeanwhile) {
  Work work({7, 1, 40, 3});
  std::multiset<size_t> trainings;
  std::multiset<size_t> points;
  for (int64_t i = 0; i < 3; ++i) {
    const WorkLeft left = work.Find(false, {i, 3});
    trainings.insert(left.trainings.begin(), left.trainings.end());
    points.merge(PointsOf(left));
    // The next share begins after this one has done all its work.
    for (const size_t t : left.trainings) work.trained.insert(t);
    for (const Piece& piece : left.pieces) {
      for (const size_t p : piece.points) work.now.points[p].state = StudyState::kDone;
    }
  }
  std::vector<size_t> all(51);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(trainings, (std::multiset<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(points, std::multiset<size_t>(all.begin(), all.end()));
}

TEST(StudySchedule, PiecesAreOfOneTraining) {
  const Work work({7, 1, 40, 3});
  for (const Piece& piece : PiecesOf(work.plan, 2)) {
    EXPECT_LE(piece.points.size(), 7u);  // 51 points, two processes, four pieces each
    for (const size_t p : piece.points) EXPECT_EQ(work.plan.points[p].training, piece.training);
  }
}

TEST(StudySchedule, WhatFailedIsLeftOnlyWhereItIsTriedAgain) {
  Work work({2, 2});
  work.trained = {1};
  work.now.trainings[0].state = StudyState::kFailed;
  work.now.trainings[1].state = StudyState::kDone;
  for (const size_t p : {0, 1, 2}) work.now.points[p].state = StudyState::kFailed;
  EXPECT_TRUE(work.Find().trainings.empty());
  EXPECT_EQ(PointsOf(work.Find()), std::multiset<size_t>{3});
  EXPECT_EQ(work.Find(true).trainings, std::vector<size_t>{0});
  EXPECT_EQ(PointsOf(work.Find(true)), (std::multiset<size_t>{0, 1, 2, 3}));
}

TEST(StudySchedule, RecordsThatWereTakenAwayAreTrainedAgainForPointsAlone) {
  Work work({1, 1});
  work.now.trainings[0].state = work.now.trainings[1].state = StudyState::kDone;
  work.now.points[0].state = StudyState::kDone;
  EXPECT_EQ(work.Find().trainings, std::vector<size_t>{1});
}

TEST(StudySchedule, SeedsFollowEachOther) {
  Work work({1, 1, 1, 1, 1});
  for (const size_t t : {0, 2, 4}) work.plan.trainings[t].scenario.seed = 7;
  for (const size_t t : {1, 3}) work.plan.trainings[t].scenario.seed = 6;
  EXPECT_EQ(work.Find().trainings, (std::vector<size_t>{1, 3, 0, 2, 4}));
}

TEST(StudySchedule, ATrainingWithoutAJournalEntryIsFound) {
  Work work({1, 1});
  work.trained = {1};
  EXPECT_EQ(work.Find().trainings, std::vector<size_t>{0});
  EXPECT_EQ(work.Find().found, std::vector<size_t>{1});
}

TEST(StudySchedule, SharesAreCountedFromOne) {
  EXPECT_EQ(ParseShare("3/16", "--share").index, 2);
  EXPECT_EQ(ParseShare("3/16", "--share").count, 16);
  for (const char* text : {"0/4", "5/4", "4", "1/0", "a/b", "1/2/3", ""}) {
    EXPECT_THROW(ParseShare(text, "--share"), Error) << text;
  }
}

TEST(StudyProgress, WeighsTrainingsAndPointsByWhatTheyTook) {
  StudyProgress progress;
  progress.jobs = 2;
  progress.trainings = 4;
  progress.samples = 1000;
  progress.points = 100;
  EXPECT_TRUE(progress.TimeLeft().at_least);
  EXPECT_EQ(ProgressText(progress, 30), "trainings 0/4  points 0/100");
  progress.samples_in_work = 50;
  progress.seconds_in_work = 10;
  // At 0.2 s a sample 190 s are left, on two processes 95 s.
  EXPECT_EQ(ProgressText(progress, 30), "trainings 0/4  points 0/100  ETA > 1:35");
  progress.samples_in_work = progress.seconds_in_work = 0;
  progress.trainings_ended = 1;
  progress.samples_ended = 100;
  // At 0.2 s a sample 180 s are left, on two processes 90 s.
  progress.training_seconds = 20;
  EXPECT_TRUE(progress.TimeLeft().at_least);
  EXPECT_DOUBLE_EQ(progress.TimeLeft().seconds, 90);
  EXPECT_EQ(ProgressText(progress, 30), "trainings 1/4  points 0/100  ETA > 1:30");
  progress.points_ended = 10;
  progress.points_failed = 1;
  // At 4 s a point 360 s are left, on two processes 180 s.
  progress.point_seconds = 40;
  EXPECT_FALSE(progress.TimeLeft().at_least);
  EXPECT_DOUBLE_EQ(progress.TimeLeft().seconds, 270);
  EXPECT_EQ(ProgressText(progress, 30),
            "trainings 1/4  points 10/100  1 failed   10%  0.3 points/s  ETA 4:30");
}

TEST(ShellWords, AreReadBackAsTheyWere) {
  for (const std::string word :
       {"plain-1.0", "two words", "it's", "$HOME `x` \\ \"q\"", "", "a;b"}) {
    EXPECT_EQ(RunShell("printf %s " + ShellWord(word)).text, word);
  }
}

}  // namespace
}  // namespace legacy::study_schedule_test