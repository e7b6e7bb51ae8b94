// Slots of time in the bucket: whoever wants to send takes the next one with a compare-and-swap and
// sends when it is over.
#include "worker/comm/pacer.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace trireme {
namespace {

constexpr double kQuantumNs = 2e6;  // a longer one costs fewer wake-ups, a shorter one is smoother
constexpr int64_t kMinQuantum = 4 << 10;
constexpr int64_t kMaxQuantum = 256 << 10;
constexpr int64_t kMaxLateNs = 50000000;

}  // namespace

Pacer::Pacer(const FabricLimit& limit, std::atomic<int64_t>* bucket)
    : ns_per_byte_(limit.bytes_per_s > 0 ? 1e9 / limit.bytes_per_s : 0),
      latency_ns_(static_cast<int64_t>(limit.latency_s * 1e9)),
      quantum_(kMaxQuantum),
      bucket_(bucket) {
  CHECK(bucket_ != nullptr);
  if (ns_per_byte_ > 0) {
    const double bytes = std::min(kQuantumNs / ns_per_byte_, static_cast<double>(kMaxQuantum));
    quantum_ = std::max(static_cast<int64_t>(bytes), kMinQuantum);
  }
}

int64_t Pacer::Grant(int64_t want, int64_t ready_ns, int64_t now_ns) {
  const int64_t eligible_ns = ready_ns + latency_ns_;
  if (granted_ == 0) {
    if (now_ns < eligible_ns) {
      wake_ns_ = eligible_ns;
      return 0;
    }
    if (ns_per_byte_ == 0) return want;
    const int64_t bytes = std::min(quantum_, want);
    const auto slot_ns = static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * ns_per_byte_));
    const int64_t earliest = std::max({eligible_ns, floor_ns_, now_ns - kMaxLateNs});
    int64_t taken = bucket_->load();
    while (!bucket_->compare_exchange_weak(taken, std::max(taken, earliest) + slot_ns)) {
    }
    granted_ = bytes;
    slot_end_ns_ = std::max(taken, earliest) + slot_ns;
  }
  if (now_ns < slot_end_ns_) {
    wake_ns_ = slot_end_ns_;
    return 0;
  }
  return std::min(granted_, want);
}

void Pacer::Sent(int64_t bytes) {
  if (ns_per_byte_ > 0) granted_ = std::max<int64_t>(granted_ - bytes, 0);
}

}  // namespace trireme
