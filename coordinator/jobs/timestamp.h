// Milliseconds since the Unix epoch <-> protobuf timestamps. Header only; covered by
// job_machine_test.
#ifndef TRIREME_COORDINATOR_JOBS_TIMESTAMP_H_
#define TRIREME_COORDINATOR_JOBS_TIMESTAMP_H_

#include <cstdint>

#include "google/protobuf/timestamp.pb.h"

namespace trireme {

inline google::protobuf::Timestamp ToTimestamp(int64_t wall_ms) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(wall_ms / 1000);
  timestamp.set_nanos(static_cast<int32_t>(wall_ms % 1000) * 1000000);
  return timestamp;
}

inline int64_t ToWallMs(const google::protobuf::Timestamp& timestamp) {
  return timestamp.seconds() * 1000 + timestamp.nanos() / 1000000;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_JOBS_TIMESTAMP_H_
