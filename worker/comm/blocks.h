// How a reduced tensor is cut into one block a member, and in which order the members' values of a
// block are added: the rules that make sums the same on every transport.
#ifndef TRIREME_WORKER_COMM_BLOCKS_H_
#define TRIREME_WORKER_COMM_BLOCKS_H_

#include <cstdint>
#include <vector>

namespace trireme {

// Up to this many bytes everybody sends all_reduce's whole input to everybody and adds it in group
// order: one round. No call of up to this many bytes goes around a ring.
inline constexpr int64_t kSmallCallBytes = 16 << 10;

struct Block {
  int64_t begin = 0;  // elements
  int64_t count = 0;
  bool operator==(const Block&) const = default;
};

// Block `index` of `count` elements in `parts` near-equal blocks; the first count % parts hold one
// more. Example: BlockOf(10, 4, 1) is {3, 3}.
Block BlockOf(int64_t count, int64_t parts, int64_t index);

// `members` in the order in which the values of block `block` are added: block + 1, block + 2, ...,
// around to `block` itself. Example: RingOrder({4, 5, 6}, 1) is {6, 4, 5}.
std::vector<int32_t> RingOrder(const std::vector<int32_t>& members, int64_t block);

}  // namespace trireme

#endif  // TRIREME_WORKER_COMM_BLOCKS_H_
