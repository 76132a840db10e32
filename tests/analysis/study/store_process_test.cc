// Writers that are killed, and readers that run during a write, each in its own process.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "tests/analysis/study/store_fixture.h"

namespace legacy::analysis::store_process_test {
namespace {

constexpr int kKills = 15;

// Returns all points with results of generation `g`, which the figures and the number of
// evaluations show.
std::vector<StudyPoint> Generation(int64_t g) {
  std::vector<StudyPoint> points = AwkwardStudy().points;
  for (StudyPoint& point : points) {
    point.state = StudyState::kDone;
    point.figures.events = g;
    for (int64_t step = 0; step < 40 + g % 7; ++step) {
      point.curve.push_back({step, 1, 2, 3, static_cast<double>(g), {0.5, 120}});
    }
  }
  return points;
}

// Returns the generation that all of a study's points are of; -1 if they are pending, -2 if
// generations are mixed.
int64_t GenerationOf(const Study& study) {
  std::set<int64_t> found;
  for (const StudyPoint& point : study.points) {
    const int64_t g = point.state == StudyState::kDone ? point.figures.events : -1;
    const bool whole = g < 0 ? point.curve.empty()
                             : point.curve.size() == static_cast<size_t>(40 + g % 7) &&
                                   point.curve.back().test_loss == static_cast<double>(g);
    found.insert(whole ? g : -2);
  }
  return found.size() == 1 ? *found.begin() : -2;
}

// A child process that does `work` until it is killed.
template <class Work>
class Child {
 public:
  explicit Child(Work work) : process_(fork()) {
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the child when a killed test does
    try {
      for (int64_t i = 0;; ++i) work(i);
    } catch (...) {
      _exit(1);
    }
  }
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns false if the child had already ended, by an error.
  bool Kill() {
    if (process_ <= 0) return true;
    int status = 0;
    kill(process_, SIGKILL);
    waitpid(std::exchange(process_, 0), &status, 0);
    return WIFSIGNALED(status);
  }

 private:
  pid_t process_;
};

TEST_F(StudyStoreTest, APutOfAKilledWriterIsWholeOrAbsent) {
  StudyStore::Create(file_, AwkwardStudy());
  int unfinished = 0;
  int64_t last = -1;
  for (int i = 0; i < kKills; ++i) {
    Child child([&](int64_t) {
      StudyStore store = StudyStore::Open(file_);
      for (int64_t g = GenerationOf(store.Read()) + 1;; ++g) store.Put(Generation(g));
    });
    std::this_thread::sleep_for(std::chrono::microseconds(20000 + 1700 * i));
    ASSERT_TRUE(child.Kill());
    unfinished += std::filesystem::exists(file_.string() + "-journal");
    const int64_t g = GenerationOf(StudyStore::Open(file_).Read());
    EXPECT_GE(g, last);
    last = g;
    EXPECT_EQ(Rows("PRAGMA integrity_check").at(0).at(0), Cell(std::string("ok")));
    EXPECT_TRUE(Rows("PRAGMA foreign_key_check").empty());
  }
  EXPECT_GT(unfinished, 0) << "no writer was killed in the middle of a Put";
}

TEST_F(StudyStoreTest, ACreationThatIsKilledLeavesAllOrNothing) {
  for (int i = 0; i < kKills; ++i) {
    const auto name = [&](int64_t number) {
      return directory_ / (std::to_string(i) + "-" + std::to_string(number) + ".sqlite");
    };
    Child child([&](int64_t number) { StudyStore::Create(name(number), AwkwardStudy()); });
    std::this_thread::sleep_for(std::chrono::microseconds(10000 + 1300 * i));
    ASSERT_TRUE(child.Kill());
    int64_t number = 0;
    while (std::filesystem::exists(name(number))) ++number;
    if (number > 0) ExpectSame(StudyStore::Open(name(number - 1)).Read(), AwkwardStudy());
    ExpectSame(StudyStore::Create(name(number), AwkwardStudy()).Read(), AwkwardStudy());
  }
}

TEST_F(StudyStoreTest, ReadersBesideAWriterSeeWholePuts) {
  StudyStore::Create(file_, AwkwardStudy());
  Child child([&](int64_t) {
    StudyStore store = StudyStore::Open(file_);
    for (int64_t g = 0;; ++g) store.Put(Generation(g));
  });
  const StudyStore kept = StudyStore::Open(file_);
  int64_t first = GenerationOf(kept.Read());
  for (int64_t now = first; now < first + 20;) {
    const int64_t before = now;
    now = GenerationOf(kept.Read());
    ASSERT_GE(now, before);  // never -2 either
    ASSERT_GE(GenerationOf(StudyStore::Open(file_).Read()), now);
  }
  EXPECT_TRUE(child.Kill());
}

}  // namespace
}  // namespace legacy::analysis::store_process_test