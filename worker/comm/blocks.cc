// Plain arithmetic.
#include "worker/comm/blocks.h"

#include <algorithm>

#include "common/base/check.h"

namespace trireme {

Block BlockOf(int64_t count, int64_t parts, int64_t index) {
  CHECK(index >= 0 && index < parts) << index << " of " << parts;
  const int64_t base = count / parts;
  const int64_t more = count % parts;
  return {index * base + std::min(index, more), base + (index < more ? 1 : 0)};
}

std::vector<int32_t> RingOrder(const std::vector<int32_t>& members, int64_t block) {
  std::vector<int32_t> order = members;
  std::rotate(order.begin(), order.begin() + (block + 1) % static_cast<int64_t>(members.size()),
              order.end());
  return order;
}

}  // namespace trireme
