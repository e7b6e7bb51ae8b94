// Plain copies and sums; inputs are read before any output is written, so in-place calls are safe.
#include "tests/support/collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/base/check.h"
#include "worker/comm/blocks.h"

namespace trireme {
namespace {

using Bytes = std::vector<std::byte>;

// Elements of block `block`, reduced over the inputs in this order.
template <typename T>
void Reduce(const std::string& kind, const std::vector<Bytes>& inputs,
            const std::vector<int32_t>& order, const Block& block, Bytes* result) {
  auto* total = reinterpret_cast<T*>(result->data());
  for (int64_t i = block.begin; i < block.begin + block.count; ++i) {
    total[i] = reinterpret_cast<const T*>(inputs[order[0]].data())[i];
    for (size_t m = 1; m < order.size(); ++m) {
      const T next = reinterpret_cast<const T*>(inputs[order[m]].data())[i];
      total[i] = kind == "max" ? std::max(total[i], next) : total[i] + next;
    }
  }
}

// The sums of all elements: in blocks around the ring, or all in group order.
Bytes ReduceAll(DType dtype, const std::string& kind, const std::vector<Bytes>& inputs,
                bool in_blocks) {
  CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt32)
      << Name(dtype);
  Bytes result(inputs[0].size());
  const auto count = static_cast<int64_t>(result.size()) / SizeOf(dtype);
  const auto members = static_cast<int64_t>(inputs.size());
  std::vector<int32_t> group(members);
  std::iota(group.begin(), group.end(), 0);
  for (int64_t b = 0; b < (in_blocks ? members : 1); ++b) {
    const Block block = in_blocks ? BlockOf(count, members, b) : Block{0, count};
    const std::vector<int32_t> order = in_blocks ? RingOrder(group, b) : group;
    if (dtype == DType::kFloat32) Reduce<float>(kind, inputs, order, block, &result);
    if (dtype == DType::kFloat64) Reduce<double>(kind, inputs, order, block, &result);
    if (dtype == DType::kInt32) Reduce<int32_t>(kind, inputs, order, block, &result);
  }
  return result;
}

void Put(const Bytes& from, size_t begin, std::byte* to, size_t bytes) {
  CHECK_LE(begin + bytes, from.size());
  std::memcpy(to, from.data() + begin, bytes);
}

}  // namespace

void RunCollective(const std::string& op, const std::string& kind, DType dtype,
                   const std::vector<CollectiveBuffers>& members) {
  const auto element = static_cast<size_t>(SizeOf(dtype));
  std::vector<Bytes> inputs;
  for (const CollectiveBuffers& m : members) {
    inputs.emplace_back(m.in, m.in + m.in_count * element);
    CHECK_EQ(m.in_count, members[0].in_count) << op;
    CHECK_EQ(m.out_count, members[0].out_count) << op;
  }
  const size_t n = members.size();
  const size_t out_bytes = members[0].out_count * element;
  const size_t in_bytes = members[0].in_count * element;
  if (op == "all_reduce" || op == "reduce_scatter") {
    const bool in_blocks =
        op == "reduce_scatter" || static_cast<int64_t>(in_bytes) > kSmallCallBytes;
    const Bytes total = ReduceAll(dtype, kind, inputs, in_blocks);
    CHECK_EQ(in_bytes, op == "all_reduce" ? out_bytes : n * out_bytes) << op;
    for (size_t m = 0; m < n; ++m)
      Put(total, op == "all_reduce" ? 0 : m * out_bytes, members[m].out, out_bytes);
  } else if (op == "all_gather") {
    CHECK_EQ(out_bytes, n * in_bytes);
    for (const CollectiveBuffers& m : members) {
      for (size_t j = 0; j < n; ++j) Put(inputs[j], 0, m.out + j * in_bytes, in_bytes);
    }
  } else {
    CHECK(op == "all_to_all") << op;
    CHECK_EQ(out_bytes, in_bytes);
    const size_t block = in_bytes / n;
    for (size_t m = 0; m < n; ++m) {
      for (size_t j = 0; j < n; ++j) Put(inputs[j], m * block, members[m].out + j * block, block);
    }
  }
}

}  // namespace trireme
