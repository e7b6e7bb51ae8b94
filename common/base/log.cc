// Writes each log line with one write call, so lines of several processes do not mix.
#include "common/base/log.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace trireme {
namespace {

std::string& LogName() {
  static std::string* const name = new std::string("trireme");
  return *name;
}

const char* SeverityName(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::kInfo:
      return "INFO";
    case LogSeverity::kWarning:
      return "WARN";
    case LogSeverity::kError:
      return "ERROR";
  }
  return "?";
}

}  // namespace

void SetLogName(std::string_view name) { LogName() = std::string(name); }

namespace internal {

LogLine::~LogLine() {
  using std::chrono::system_clock;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const int millis = static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[64];
  std::snprintf(stamp, sizeof(stamp), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, millis);
  std::string line = std::string(stamp) + " " + SeverityName(severity_) + " " + LogName() + ": " +
                     stream_.str() + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace internal
}  // namespace trireme
