// A limit on what goes from this rank's worker to another one, to stand for a slow fabric: bytes
// are granted in small quanta, each only after the time it takes at the limit, and no byte earlier
// than the latency after it was there to be sent.
#ifndef TRIREME_WORKER_COMM_PACER_H_
#define TRIREME_WORKER_COMM_PACER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace trireme {

// Of what one worker sends to one other worker; 0 = none.
struct FabricLimit {
  double bytes_per_s = 0;
  double latency_s = 0;  // of every message; a message follows the one before without a pause
  bool none() const { return bytes_per_s <= 0 && latency_s <= 0; }
};

// Of the monotonic clock, the same in all processes of a host.
inline int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The pacer of one link. Links to ranks of the same worker, from ranks of the same worker, share
// the bucket: the time until which the way between the two workers is taken.
class Pacer {
 public:
  // `bucket` is borrowed. Starts as 0.
  Pacer(const FabricLimit& limit, std::atomic<int64_t>* bucket);

  // How many of `want` bytes, there since `ready_ns`, may be sent now; 0 if none yet, then
  // wake_ns() says when to ask again. Time a link was ready but its thread was late is not lost (up
  // to 50 ms), so that the rate over a busy period is the limit and never more.
  int64_t Grant(int64_t want, int64_t ready_ns, int64_t now_ns);
  // Of the granted bytes, these were sent.
  void Sent(int64_t bytes);
  // The pipe is full: the time until it takes bytes again is lost.
  void Stalled(int64_t now_ns) { floor_ns_ = now_ns; }
  int64_t wake_ns() const { return wake_ns_; }

 private:
  double ns_per_byte_;
  int64_t latency_ns_;
  int64_t quantum_;
  std::atomic<int64_t>* bucket_;
  int64_t granted_ = 0;  // bytes, to go at slot_end_ns_ or later
  int64_t slot_end_ns_ = 0;
  int64_t floor_ns_ = 0;
  int64_t wake_ns_ = 0;
};

// The way to one peer rank: what the communicator knows beside the link.
struct Route {
  int32_t worker = 0;            // number of the peer's worker
  bool other_slice = false;      // its bytes count as DCN
  std::unique_ptr<Pacer> pacer;  // null = no limit
};
using Routes = std::vector<Route>;  // index = rank

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_PACER_H_
