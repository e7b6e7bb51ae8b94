// Binding, rows, errors and rollback on a database in memory.
#include "coordinator/jobs/sqlite.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace trireme {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    ASSERT_TRUE(Execute(db_, "CREATE TABLE t(number INTEGER PRIMARY KEY, bytes BLOB)").ok());
  }
  void TearDown() override { sqlite3_close(db_); }

  Status Insert(int64_t number, const std::string& bytes) {
    Query query(db_, "INSERT INTO t(number, bytes) VALUES(?, ?)");
    query.Bind(number);
    query.Bind(bytes);
    return query.Run();
  }
  int64_t Count() {
    Query query(db_, "SELECT count(*) FROM t");
    EXPECT_TRUE(*query.Step());
    return query.Int(0);
  }

  sqlite3* db_ = nullptr;
};

TEST_F(SqliteTest, BytesComeBackAsTheyWere) {
  const std::string bytes("a\0b'\xff", 5);
  ASSERT_TRUE(Insert(1, bytes).ok());
  ASSERT_TRUE(Insert(2, "").ok());
  Query query(db_, "SELECT bytes FROM t ORDER BY number");
  ASSERT_TRUE(*query.Step());
  EXPECT_EQ(query.Text(0), bytes);
  ASSERT_TRUE(*query.Step());
  EXPECT_EQ(query.Text(0), "");
  EXPECT_FALSE(*query.Step());
}

TEST_F(SqliteTest, ErrorsShowAtTheStep) {
  ASSERT_TRUE(Insert(1, "x").ok());
  EXPECT_EQ(Insert(1, "y").code(), absl::StatusCode::kInternal);
  Query wrong(db_, "SELECT nothing FROM nowhere");
  wrong.Bind(int64_t{1});
  EXPECT_FALSE(wrong.Step().ok());
  EXPECT_FALSE(Execute(db_, "soup").ok());
}

TEST_F(SqliteTest, WithoutCommitNothingStays) {
  {
    Transaction transaction(db_);
    ASSERT_TRUE(transaction.status().ok());
    ASSERT_TRUE(Insert(1, "x").ok());
  }
  EXPECT_EQ(Count(), 0);
  Transaction transaction(db_);
  ASSERT_TRUE(Insert(1, "x").ok());
  ASSERT_TRUE(transaction.Commit().ok());
  EXPECT_EQ(Count(), 1);
}

}  // namespace
}  // namespace trireme
