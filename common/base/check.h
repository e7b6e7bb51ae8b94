// CHECK: ends the program with file, line and values when our own invariant is broken.
//   CHECK(n > 0) << "empty group " << name;
//   CHECK_EQ(a, b);
#ifndef TRIREME_COMMON_BASE_CHECK_H_
#define TRIREME_COMMON_BASE_CHECK_H_

#include <sstream>

namespace trireme::internal {

// Collects the message and aborts when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace trireme::internal

#define CHECK(condition)                         \
  (condition) ? (void)0                          \
              : ::trireme::internal::Voidify() & \
                    ::trireme::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
#define TRIREME_CHECK_OP_(a, op, b) CHECK((a)op(b)) << "(" << (a) << " vs " << (b) << ") "
#define CHECK_EQ(a, b) TRIREME_CHECK_OP_(a, ==, b)
#define CHECK_NE(a, b) TRIREME_CHECK_OP_(a, !=, b)
#define CHECK_LT(a, b) TRIREME_CHECK_OP_(a, <, b)
#define CHECK_LE(a, b) TRIREME_CHECK_OP_(a, <=, b)
#define CHECK_GT(a, b) TRIREME_CHECK_OP_(a, >, b)
#define CHECK_GE(a, b) TRIREME_CHECK_OP_(a, >=, b)
#define CHECK_OK(expr)                                                     \
  do {                                                                     \
    const auto trireme_check_status_ = (expr);                             \
    CHECK(trireme_check_status_.ok()) << trireme_check_status_.ToString(); \
  } while (0)

#endif  // TRIREME_COMMON_BASE_CHECK_H_
