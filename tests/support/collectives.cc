// Plain copies and sums; inputs are read before any output is written, so in-place calls are safe.
#include "tests/support/collectives.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"

namespace trireme {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes Reduce(const std::string& kind, const std::vector<Bytes>& inputs) {
  Bytes result = inputs[0];
  auto* total = reinterpret_cast<T*>(result.data());
  for (size_t m = 1; m < inputs.size(); ++m) {
    const auto* next = reinterpret_cast<const T*>(inputs[m].data());
    for (size_t i = 0; i < result.size() / sizeof(T); ++i) {
      total[i] = kind == "max" ? std::max(total[i], next[i]) : total[i] + next[i];
    }
  }
  return result;
}

Bytes ReduceAs(DType dtype, const std::string& kind, const std::vector<Bytes>& inputs) {
  if (dtype == DType::kFloat32) return Reduce<float>(kind, inputs);
  if (dtype == DType::kFloat64) return Reduce<double>(kind, inputs);
  CHECK(dtype == DType::kInt32) << Name(dtype);
  return Reduce<int32_t>(kind, inputs);
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
    const Bytes total = ReduceAs(dtype, kind, inputs);
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
