// Element types.
#ifndef TRIREME_COMMON_TENSOR_DTYPE_H_
#define TRIREME_COMMON_TENSOR_DTYPE_H_

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace trireme {

enum class DType : uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kInt32 = 2,
  kBFloat16 = 3,
  kFloat16 = 4,
  kInt8 = 5,
};

// Bytes of one element.
int64_t SizeOf(DType dtype);

// "float32", "float64", "int32", "bfloat16", "float16", "int8": the spelling of job files and
// plans.
std::string_view Name(DType dtype);

// Errors: kInvalidArgument naming the known types.
StatusOr<DType> ParseDType(std::string_view name);

// safetensors spelling: "F32", "F64", "I32", "BF16", "F16", "I8".
std::string_view SafetensorsName(DType dtype);

}  // namespace trireme

#endif  // TRIREME_COMMON_TENSOR_DTYPE_H_
