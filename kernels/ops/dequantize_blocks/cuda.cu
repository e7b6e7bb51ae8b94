// Payloads unpacked and added up in the order of the reference, a thread four elements where pieces
// are whole fours: every payload byte is read once, 4 bytes are written an element.
#include "kernels/device/cuda/divide.h"
#include "kernels/device/cuda/wide.h"
#include "kernels/ops/quantize_blocks/layout.h"

namespace trireme {
namespace {

constexpr int kThreads = 256;

struct Payloads {
  const char* first;
  int64_t payloads, own;
  int64_t payload_bytes, piece_bytes;
  Divider piece;  // elements of a piece over the width
  Divider block;  // elements of a block over the width
  int64_t block_bytes;
};

// Adds group `group` of a piece's elements to sum.
template <bool kInt8, int kWidth>
__device__ __forceinline__ void AddGroup(const Payloads& p, const char* piece, int64_t group,
                                         Wide<float, kWidth>* sum) {
  if constexpr (kInt8) {
    const DividedBy at = p.block.Divide(group);
    const char* bytes = piece + at.quotient * p.block_bytes;
    const float scale = *reinterpret_cast<const float*>(bytes);
    const auto* values = reinterpret_cast<const int8_t*>(bytes + kScaleBytes);
    const Wide<int8_t, kWidth> group_values = LoadWide<kWidth>(values, at.remainder);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      sum->at[k] += static_cast<float>(group_values.at[k]) * scale;
    }
  } else {
    const auto values = LoadWide<kWidth>(reinterpret_cast<const uint16_t*>(piece), group);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      sum->at[k] += __int_as_float(static_cast<int>(static_cast<uint32_t>(values.at[k]) << 16));
    }
  }
}

template <bool kInt8, int kWidth>
__global__ void __launch_bounds__(kThreads)
    Dequantize(Payloads p, float* __restrict__ y, int64_t groups) {
  for (int64_t i = GridIndex(); i < groups; i += GridStride()) {
    const DividedBy at = p.piece.Divide(i);
    Wide<float, kWidth> sum = {};
    int64_t member = p.own;
    for (int64_t turn = 0; turn < p.payloads; ++turn) {
      member = member + 1 < p.payloads ? member + 1 : 0;
      const char* piece = p.first + member * p.payload_bytes + at.quotient * p.piece_bytes;
      AddGroup<kInt8, kWidth>(p, piece, at.remainder, &sum);
    }
    StoreWide<kWidth>(y, i, sum);
  }
}

}  // namespace

void Cuda_dequantize_blocks(const KernelArgs& args) {
  const BlockFormat format = ParseBlockFormat(args.attrs.GetString("format")).value();
  const int64_t block = args.attrs.GetInt("block", kDefaultQuantizeBlock);
  const int64_t parts = args.attrs.GetInt("parts", 1);
  const int64_t count = args.out[0].count();
  if (count == 0) return;
  const int64_t piece_elements = PieceElements(count, parts);
  const char* first = args.in[0].as<char>();
  float* y = args.out[0].f32();
  const bool wide =
      count % 4 == 0 && piece_elements % 4 == 0 && AreAligned16(first) && AreAligned16(y);
  const int64_t width = wide ? 4 : 1;
  const Payloads payloads{.first = first,
                          .payloads = args.attrs.GetInt("sum_parts", 1),
                          .own = args.attrs.GetInt("own", 0),
                          .payload_bytes = PayloadBytes(format, count, block, parts),
                          .piece_bytes = PieceBytes(format, count, block, parts),
                          .piece = Divider(piece_elements / width),
                          .block = Divider(block / width),
                          .block_bytes = kScaleBytes + block};
  CHECK_EQ(args.in[0].count(), payloads.payloads * payloads.payload_bytes);
  const bool is_int8 = format == BlockFormat::kInt8;
  auto* const kernel = is_int8 ? (wide ? Dequantize<true, 4> : Dequantize<true, 1>)
                               : (wide ? Dequantize<false, 4> : Dequantize<false, 1>);
  const int64_t groups = count / width;
  TRIREME_LAUNCH(args, BlocksFor(groups, kThreads), kThreads, 0, kernel, payloads, y, groups);
}

}  // namespace trireme
