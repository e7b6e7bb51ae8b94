// One log line an event, to stderr: time, severity, program, then the message with key=value pairs.
//   LOG(INFO) << "plan chosen job=" << id << " bytes_per_rank=" << bytes;
// Only at the rim: pure code returns reasons instead.
#ifndef TRIREME_COMMON_BASE_LOG_H_
#define TRIREME_COMMON_BASE_LOG_H_

#include <sstream>
#include <string>
#include <string_view>

namespace trireme {

enum class LogSeverity { kInfo, kWarning, kError };

// Sets the name printed in every line, for example "worker host-0". Call once, in main.
void SetLogName(std::string_view name);

namespace internal {

class LogLine {
 public:
  explicit LogLine(LogSeverity severity) : severity_(severity) {}
  ~LogLine();
  std::ostream& stream() { return stream_; }

 private:
  LogSeverity severity_;
  std::ostringstream stream_;
};

}  // namespace internal
}  // namespace trireme

#define TRIREME_LOG_INFO ::trireme::LogSeverity::kInfo
#define TRIREME_LOG_WARNING ::trireme::LogSeverity::kWarning
#define TRIREME_LOG_ERROR ::trireme::LogSeverity::kError
#define LOG(severity) ::trireme::internal::LogLine(TRIREME_LOG_##severity).stream()

#endif  // TRIREME_COMMON_BASE_LOG_H_
