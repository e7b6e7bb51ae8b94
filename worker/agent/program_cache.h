// Programs by content on this worker: fetched once from the coordinator, checked against their
// hash, kept on disk.
#ifndef TRIREME_WORKER_AGENT_PROGRAM_CACHE_H_
#define TRIREME_WORKER_AGENT_PROGRAM_CACHE_H_

#include <functional>
#include <string>

#include "common/base/status.h"

namespace trireme {

class ProgramCache {
 public:
  // Gets the bytes of a program from elsewhere.
  using Fetch = std::function<StatusOr<std::string>(const std::string& sha256)>;

  // `folder` is made if missing. Keeps the `max_programs` used last.
  ProgramCache(std::string folder, Fetch fetch, size_t max_programs = 64);

  // From disk, or fetched. Blocks. Errors: those of Fetch; kUnavailable when the bytes do not have
  // the hash. A damaged file is fetched again; a full disk only costs the caching.
  StatusOr<std::string> Get(const std::string& sha256);

 private:
  void Keep(const std::string& path, const std::string& bytes);

  const std::string folder_;
  const Fetch fetch_;
  const size_t max_programs_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_PROGRAM_CACHE_H_
