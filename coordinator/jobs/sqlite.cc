// Thin: no cache of statements, as the store writes about once a job event.
#include "coordinator/jobs/sqlite.h"

#include <sqlite3.h>

namespace trireme {

Status SqliteError(sqlite3* db, const std::string& what) {
  const std::string message = what + ": " + (db == nullptr ? "out of memory" : sqlite3_errmsg(db));
  switch (db == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db)) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ResourceExhausted(message + "; free space on the data folder's disk");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return FailedPrecondition(message + "; does another coordinator use this data folder?");
    case SQLITE_NOTADB:
      return InvalidArgument(message + "; choose another --data-dir");
    default:
      return Internal(message);
  }
}

Status Execute(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return SqliteError(db, "store: " + sql.substr(0, 40));
}

Query::Query(sqlite3* db, const std::string& sql) : db_(db) {
  result_ = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr);
}

Query::~Query() { sqlite3_finalize(statement_); }

void Query::Bind(int64_t value) {
  if (result_ == SQLITE_OK) result_ = sqlite3_bind_int64(statement_, next_++, value);
}

void Query::Bind(const std::string& bytes) {
  if (result_ != SQLITE_OK) return;
  result_ = sqlite3_bind_blob64(statement_, next_++, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

StatusOr<bool> Query::Step() {
  if (result_ == SQLITE_OK || result_ == SQLITE_ROW) result_ = sqlite3_step(statement_);
  if (result_ == SQLITE_ROW) return true;
  if (result_ == SQLITE_DONE) return false;
  return SqliteError(db_, "store");
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Query::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int bytes = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? "" : std::string(static_cast<const char*>(data), bytes);
}

Status Query::Run() { return Step().status(); }

Transaction::~Transaction() {
  if (status_.ok() && !committed_) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);  // nothing to be done if it fails
  }
}

Status Transaction::Commit() {
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(Execute(db_, "COMMIT"));
  committed_ = true;
  return absl::OkStatus();
}

}  // namespace trireme
