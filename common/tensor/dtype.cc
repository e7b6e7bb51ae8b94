// One table of element types.
#include "common/tensor/dtype.h"

#include <string>

#include "common/base/check.h"

namespace trireme {
namespace {

struct Info {
  DType dtype;
  int64_t bytes;
  std::string_view name;
  std::string_view safetensors;
};

constexpr Info kInfos[] = {
    {DType::kFloat32, 4, "float32", "F32"}, {DType::kFloat64, 8, "float64", "F64"},
    {DType::kInt32, 4, "int32", "I32"},     {DType::kBFloat16, 2, "bfloat16", "BF16"},
    {DType::kFloat16, 2, "float16", "F16"}, {DType::kInt8, 1, "int8", "I8"},
};

const Info& Get(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  CHECK_LT(index, std::size(kInfos));
  return kInfos[index];
}

}  // namespace

int64_t SizeOf(DType dtype) { return Get(dtype).bytes; }
std::string_view Name(DType dtype) { return Get(dtype).name; }
std::string_view SafetensorsName(DType dtype) { return Get(dtype).safetensors; }

StatusOr<DType> ParseDType(std::string_view name) {
  for (const Info& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return InvalidArgument("unknown element type \"" + std::string(name) +
                         "\"; known: float32, float64, int32, bfloat16, float16, int8");
}

}  // namespace trireme
