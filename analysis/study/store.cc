// The database has a rollback journal and no write-ahead log. Such a log needs memory that
// processes share, which a file system shared over a network does not have. Readers wait only while
// a transaction is committed.
#include "analysis/study/store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "analysis/metric_json.h"
#include "analysis/rows.h"
#include "analysis/study/columns.h"
#include "analysis/study/sqlite.h"
#include "base/error.h"
#include "base/files/json.h"

namespace legacy::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Kind = SqliteTransaction::Kind;

const char kStates[] = "CHECK (state IN ('pending', 'done', 'failed'))";

std::string Quoted(const std::string& name) { return '"' + name + '"'; }

std::string Names(const std::vector<Column>& columns) {
  std::string names;
  for (const Column& column : columns) names += (names.empty() ? "" : ", ") + Quoted(column.name);
  return names;
}

std::string Places(size_t count) {
  std::string places = "?";
  for (size_t i = 1; i < count; ++i) places += ", ?";
  return places;
}

std::string InsertSql(const std::string& table, const std::vector<Column>& columns) {
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, Names(columns),
                     Places(columns.size()));
}

std::string TableSql(const std::string& table, const std::vector<Column>& columns,
                     const std::string& constraints) {
  std::string sql = fmt::format("CREATE TABLE {} (", table);
  for (const Column& column : columns) {
    sql += fmt::format("{} {}{}, ", Quoted(column.name), column.type,
                       column.needed ? " NOT NULL" : "");
  }
  return sql + constraints + ")";
}

void CreateTables(SqliteFile& file, const Study& study) {
  const std::vector<StudyAxis>& axes = study.axes;
  file.Execute(
      "CREATE TABLE study (format INTEGER NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL, "
      "definition TEXT NOT NULL, baseline TEXT NOT NULL, metrics TEXT NOT NULL, "
      "target_metric TEXT, target REAL, policies TEXT NOT NULL, seeds TEXT NOT NULL)");
  file.Execute(
      "CREATE TABLE axes (axis TEXT NOT NULL, unit TEXT NOT NULL, position INTEGER NOT NULL, "
      "value TEXT NOT NULL, number REAL, PRIMARY KEY (axis, value))");
  file.Execute(
      TableSql("trainings", TrainingColumns(), std::string("PRIMARY KEY (id), ") + kStates));
  file.Execute(
      TableSql("points", PointColumns(axes),
               std::string("PRIMARY KEY (id), FOREIGN KEY (training) REFERENCES trainings (id), ") +
                   kStates));
  file.Execute(TableSql("curves", CurveColumns(study.metrics),
                        "PRIMARY KEY (point, step), FOREIGN KEY (point) REFERENCES points (id)") +
               " WITHOUT ROWID");
  std::string identity = "points.policy, points.seed";
  for (const StudyAxis& axis : axes) {
    identity += ", points." + Quoted(axis.name);
    if (!axis.numbers.empty()) identity += ", points." + Quoted(axis.name + "_number");
  }
  file.Execute(
      fmt::format("CREATE VIEW point_curves AS SELECT {}, curves.* FROM curves JOIN points "
                  "ON points.id = curves.point",
                  identity));
}

void InsertCurve(SqliteStatement& insert, const StudyPoint& point,
                 std::span<const Metric> metrics) {
  if (point.state != StudyState::kDone) return;
  for (const CurveRow& row : point.curve) insert.Run(CurveCells(point.id, row, metrics));
}

void InsertStudy(SqliteFile& file, const Study& study) {
  json metrics = json::array();
  for (const Metric& metric : study.metrics) metrics.push_back(MetricJson(metric));
  SqliteStatement(file, "INSERT INTO study VALUES (" + Places(10) + ")")
      .Run({int64_t{kStudyFormat}, study.name, study.title, study.definition, study.baseline,
            metrics.dump(), study.target ? Cell(study.target->metric) : Cell(),
            study.target ? Cell(study.target->value) : Cell(), json(study.policies).dump(),
            json(study.seeds).dump()});
  SqliteStatement axes(file, "INSERT INTO axes VALUES (" + Places(5) + ")");
  for (const StudyAxis& axis : study.axes) {
    for (size_t i = 0; i < axis.values.size(); ++i) {
      axes.Run({axis.name, axis.unit, static_cast<int64_t>(i), axis.values[i],
                axis.numbers.empty() ? Cell() : Cell(axis.numbers[i])});
    }
  }
  SqliteStatement trainings(file, InsertSql("trainings", TrainingColumns()));
  for (const StudyTraining& training : study.trainings) trainings.Run(TrainingCells(training));
  SqliteStatement points(file, InsertSql("points", PointColumns(study.axes)));
  SqliteStatement curves(file, InsertSql("curves", CurveColumns(study.metrics)));
  for (const StudyPoint& point : study.points) {
    points.Run(PointCells(study.axes, point));
    InsertCurve(curves, point, study.metrics);
  }
}

std::vector<Cell> Needed(SqliteStatement statement, const std::string& what) {
  if (!statement.Step()) throw Error("no " + what);
  return statement.Row();
}

std::vector<StudyAxis> ReadAxes(SqliteFile& file) {
  std::vector<StudyAxis> axes;
  SqliteStatement rows(file, "SELECT axis, unit, value, number FROM axes ORDER BY rowid");
  while (rows.Step()) {
    const std::vector<Cell> cells = rows.Row();
    const auto& name = std::get<std::string>(cells[0]);
    if (axes.empty() || axes.back().name != name) {
      axes.push_back({name, std::get<std::string>(cells[1]), {}, {}});
    }
    axes.back().values.push_back(std::get<std::string>(cells[2]));
    if (const double* number = std::get_if<double>(&cells[3])) {
      axes.back().numbers.push_back(*number);
    }
  }
  return axes;
}

std::vector<Metric> ReadMetrics(SqliteFile& file) {
  const std::vector<Cell> cells =
      Needed(SqliteStatement(file, "SELECT metrics FROM study"), "row in table study");
  std::vector<Metric> metrics;
  for (const json& entry : ParseJson(std::get<std::string>(cells[0]), "metrics")) {
    metrics.push_back(MetricOf(entry, "metrics"));
  }
  return metrics;
}

Study ReadHead(SqliteFile& file) {
  Study study;
  study.metrics = ReadMetrics(file);
  const std::vector<Cell> cells = Needed(
      SqliteStatement(file,
                      "SELECT name, title, definition, baseline, target_metric, target, policies, "
                      "seeds FROM study"),
      "row in table study");
  study.name = std::get<std::string>(cells[0]);
  study.title = std::get<std::string>(cells[1]);
  study.definition = std::get<std::string>(cells[2]);
  study.baseline = std::get<std::string>(cells[3]);
  if (const double* target = std::get_if<double>(&cells[5])) {
    study.target = Target{std::get<std::string>(cells[4]), *target};
  }
  ParseJson(std::get<std::string>(cells[6]), "policies").get_to(study.policies);
  ParseJson(std::get<std::string>(cells[7]), "seeds").get_to(study.seeds);
  study.axes = ReadAxes(file);
  // The axes' names are checked before they are part of any statement.
  CheckTables(study);
  return study;
}

void ReadCurves(SqliteFile& file, Study& study) {
  SqliteStatement rows(file, fmt::format("SELECT {} FROM curves ORDER BY point, step",
                                         Names(CurveColumns(study.metrics))));
  while (rows.Step()) {
    const std::vector<Cell> cells = rows.Row();
    const auto point = static_cast<size_t>(std::get<int64_t>(cells[0]));
    study.points.at(point).curve.push_back(CurveRowOf(cells, study.metrics));
  }
}

// Returns the columns of table points that a database of an earlier version lacks.
std::vector<Column> LackingColumns(SqliteFile& file) {
  std::set<std::string> names;
  SqliteStatement rows(file, "SELECT name FROM pragma_table_info('points')");
  while (rows.Step()) names.insert(std::get<std::string>(rows.Row()[0]));
  std::vector<Column> lacking = ResultColumns();
  std::erase_if(lacking, [&](const Column& column) {
    return names.contains(column.name) || !IsAddedColumn(column.name);
  });
  return lacking;
}

// Returns the columns of table points for SELECT; 0 for those that it lacks.
std::string PointNames(SqliteFile& file, const std::vector<StudyAxis>& axes) {
  std::string names = Names(PointColumns(axes));
  for (const Column& column : LackingColumns(file)) {
    const std::string name = ", " + Quoted(column.name);
    names.replace(names.find(name), name.size(), column.type == "REAL" ? ", 0.0" : ", 0");
  }
  return names;
}

Study ReadStudy(SqliteFile& file) {
  Study study = ReadHead(file);
  SqliteStatement trainings(
      file, fmt::format("SELECT {} FROM trainings ORDER BY rowid", Names(TrainingColumns())));
  while (trainings.Step()) study.trainings.push_back(TrainingOf(trainings.Row()));
  SqliteStatement points(
      file, fmt::format("SELECT {} FROM points ORDER BY id", PointNames(file, study.axes)));
  while (points.Step()) study.points.push_back(PointOf(study.axes, points.Row()));
  // From here on the points' ids are known to be positions.
  CheckTables(study);
  ReadCurves(file, study);
  return study;
}

// Runs `read`. Every mistake in the file becomes an Error that names the file.
template <class Read>
auto Naming(const SqliteFile& file, Read&& read) {
  const auto fail = [&](const std::string& what) -> Error {
    const bool named = what.starts_with(file.path().string());
    return Error(named ? what : file.path().string() + ": " + what);
  };
  try {
    return read();
  } catch (const Error& error) {
    throw fail(error.what());
    // The file has values of other types, or other texts than Create writes.
  } catch (const std::exception& error) {
    throw fail(std::string("damaged: ") + error.what());
  }
}

}  // namespace

struct StudyStore::Database {
  SqliteFile file;
};

StudyStore::StudyStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
StudyStore::StudyStore(StudyStore&&) noexcept = default;
StudyStore& StudyStore::operator=(StudyStore&&) noexcept = default;
StudyStore::~StudyStore() = default;

StudyStore StudyStore::Create(const fs::path& file, const Study& study) {
  std::error_code error;
  if (fs::exists(file, error)) {
    throw Error("study database", file.string(), "a file that is not there yet");
  }
  CheckTables(study);
  // The file has another name until it is whole. A file of that name is left over from a process
  // that was killed.
  fs::path temporary = file;
  temporary += ".tmp";
  fs::remove(temporary, error);
  {
    SqliteFile database(temporary, SqliteFile::Mode::kCreate);
    database.Execute("PRAGMA journal_mode = MEMORY");
    SqliteTransaction transaction(database, Kind::kWrite);
    CreateTables(database, study);
    InsertStudy(database, study);
    transaction.Commit();
  }
  fs::rename(temporary, file, error);
  if (error) throw Error(file.string() + ": cannot be written: " + error.message());
  return Open(file);
}

StudyStore StudyStore::Open(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) {
    throw Error("study database", file.string(), "a file that legacy-study wrote");
  }
  auto database =
      std::make_unique<Database>(Database{SqliteFile(file, SqliteFile::Mode::kExisting)});
  Naming(database->file, [&] {
    const std::vector<Cell> format =
        Needed(SqliteStatement(database->file, "SELECT format FROM study"), "row in table study");
    if (format[0] != Cell(int64_t{kStudyFormat})) {
      throw Error(fmt::format(
          "a study's database of another format than {}: read it with the version of legacy-study "
          "that wrote it, or run the study again",
          kStudyFormat));
    }
  });
  return StudyStore(std::move(database));
}

void StudyStore::Put(const std::vector<StudyPoint>& points) {
  SqliteFile& file = database_->file;
  const std::vector<Column> results = ResultColumns();
  SqliteTransaction transaction(file, Kind::kWrite);
  for (const Column& column : LackingColumns(file)) {
    file.Execute(fmt::format("ALTER TABLE points ADD COLUMN {} {} DEFAULT 0", Quoted(column.name),
                             column.type));
  }
  SqliteStatement update(file, fmt::format("UPDATE points SET ({}) = ({}) WHERE id = ?",
                                           Names(results), Places(results.size())));
  SqliteStatement forget(file, "DELETE FROM curves WHERE point = ?");
  const std::vector<Metric> metrics = ReadMetrics(file);
  SqliteStatement insert(file, InsertSql("curves", CurveColumns(metrics)));
  for (const StudyPoint& point : points) {
    std::vector<Cell> cells = ResultCells(point);
    cells.emplace_back(point.id);
    update.Run(cells);
    if (file.ChangedRows() != 1) {
      throw Error(file.path().string() + ": point", std::to_string(point.id),
                  "the id of a point of the study");
    }
    forget.Run({point.id});
    InsertCurve(insert, point, metrics);
  }
  transaction.Commit();
}

void StudyStore::Put(const std::vector<StudyTraining>& trainings) {
  SqliteFile& file = database_->file;
  SqliteTransaction transaction(file, Kind::kWrite);
  SqliteStatement update(file, "UPDATE trainings SET state = ?, message = ? WHERE id = ?");
  for (const StudyTraining& training : trainings) {
    update.Run({StateText(training.state), training.message, training.id});
    if (file.ChangedRows() != 1) {
      throw Error(file.path().string() + ": training", training.id,
                  "the id of a training of the study");
    }
  }
  transaction.Commit();
}

Study StudyStore::Read() const {
  SqliteFile& file = database_->file;
  return Naming(file, [&] {
    SqliteTransaction transaction(file, Kind::kRead);
    return ReadStudy(file);
  });
}

}  // namespace legacy::analysis
