// Status and the macros that pass it on. What the user or the world can cause is a Status;
// what only our own bug can cause is a CHECK (see check.h).
#ifndef TRIREME_COMMON_BASE_STATUS_H_
#define TRIREME_COMMON_BASE_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trireme {

using absl::Status;
using absl::StatusOr;

// Debian's Abseil has its own string_view with no conversion to the standard one.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

inline Status InvalidArgument(std::string_view m) { return absl::InvalidArgumentError(ToAbsl(m)); }
inline Status FailedPrecondition(std::string_view m) {
  return absl::FailedPreconditionError(ToAbsl(m));
}
inline Status ResourceExhausted(std::string_view m) {
  return absl::ResourceExhaustedError(ToAbsl(m));
}
inline Status Unavailable(std::string_view m) { return absl::UnavailableError(ToAbsl(m)); }
inline Status NotFound(std::string_view m) { return absl::NotFoundError(ToAbsl(m)); }
inline Status Internal(std::string_view m) { return absl::InternalError(ToAbsl(m)); }
inline Status DeadlineExceeded(std::string_view m) {
  return absl::DeadlineExceededError(ToAbsl(m));
}
inline Status Aborted(std::string_view m) { return absl::AbortedError(ToAbsl(m)); }
inline Status Unimplemented(std::string_view m) { return absl::UnimplementedError(ToAbsl(m)); }

// The same code with `context` and ": " in front of the message; OK stays OK.
inline Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string text(context);
  text += ": ";
  text += ToStd(status.message());
  return Status(status.code(), ToAbsl(text));
}

}  // namespace trireme

#define TRIREME_CONCAT_INNER_(a, b) a##b
#define TRIREME_CONCAT_(a, b) TRIREME_CONCAT_INNER_(a, b)

#define RETURN_IF_ERROR(expr)                                                                   \
  do {                                                                                          \
    if (::absl::Status trireme_status_ = (expr); !trireme_status_.ok()) return trireme_status_; \
  } while (0)

#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL_(TRIREME_CONCAT_(trireme_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                           \
  if (!tmp.ok()) return tmp.status();          \
  lhs = *std::move(tmp)

#endif  // TRIREME_COMMON_BASE_STATUS_H_
