// The few SQLite calls that the store needs, with errors as Status. Header with sqlite.cc; covered
// by store_test.
#ifndef TRIREME_COORDINATOR_JOBS_SQLITE_H_
#define TRIREME_COORDINATOR_JOBS_SQLITE_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace trireme {

// kResourceExhausted when the disk is full, kFailedPrecondition when the file is locked, else
// kInternal.
Status SqliteError(sqlite3* db, const std::string& what);

Status Execute(sqlite3* db, const std::string& sql);

// One prepared statement. Parameters are bound in order; an error shows at the next Step.
//   Query query(db, "SELECT job FROM jobs WHERE name = ?");
//   query.Bind(name);
//   while (true) { ASSIGN_OR_RETURN(const bool row, query.Step()); if (!row) break; ...
//   query.Text(0) ... }
class Query {
 public:
  Query(sqlite3* db, const std::string& sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  void Bind(int64_t value);
  void Bind(const std::string& bytes);

  // True: a row is there. False: done.
  StatusOr<bool> Step();
  int64_t Int(int column) const;
  std::string Text(int column) const;

  // Steps once; for statements without rows.
  Status Run();

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int next_ = 1;
  int result_;
};

// BEGIN IMMEDIATE; rolls back when it goes out of scope without Commit.
class Transaction {
 public:
  explicit Transaction(sqlite3* db) : db_(db), status_(Execute(db, "BEGIN IMMEDIATE")) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  const Status& status() const { return status_; }
  Status Commit();

 private:
  sqlite3* db_;
  Status status_;
  bool committed_ = false;
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_JOBS_SQLITE_H_
