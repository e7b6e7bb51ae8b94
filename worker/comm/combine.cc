// Plain loops for the vectoriser; out[i] depends on element i only, so shared memory of out and an
// input is no obstacle, which the pragma says.
#include "worker/comm/combine.h"

#include <string>

#include "common/base/check.h"

#if defined(__clang__)
#define TRIREME_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TRIREME_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace trireme {
namespace {

template <typename T>
void Sum(const T* left, const T* right, T* out, int64_t count) {
  TRIREME_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = left[i] + right[i];
}

template <typename T>
void Max(const T* left, const T* right, T* out, int64_t count) {
  TRIREME_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T a = left[i];
    const T b = right[i];
    out[i] = (b > a || b != b) ? b : a;
  }
}

template <typename T>
void CombineAs(ReduceKind kind, const void* left, const void* right, void* out, int64_t count) {
  const T* a = static_cast<const T*>(left);
  const T* b = static_cast<const T*>(right);
  T* to = static_cast<T*>(out);
  kind == ReduceKind::kSum ? Sum(a, b, to, count) : Max(a, b, to, count);
}

}  // namespace

Status CheckReducible(DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt32) return {};
  return InvalidArgument("the CPU communicator cannot reduce " + std::string(Name(dtype)) +
                         "; reduce in float32, float64 or int32");
}

void Combine(DType dtype, ReduceKind kind, const void* left, const void* right, void* out,
             int64_t count) {
  switch (dtype) {
    case DType::kFloat32:
      return CombineAs<float>(kind, left, right, out, count);
    case DType::kFloat64:
      return CombineAs<double>(kind, left, right, out, count);
    case DType::kInt32:
      if (kind == ReduceKind::kMax) return CombineAs<int32_t>(kind, left, right, out, count);
      // Unsigned, because signed overflow is undefined.
      return CombineAs<uint32_t>(kind, left, right, out, count);
    default:
      CHECK(false) << Name(dtype);
  }
}

}  // namespace trireme
