// Rotary embedding with a table of cosines and sines by position, kept between calls: making it
// costs more than using it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/device/simd.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_rope(const KernelArgs& args);

namespace {

// Positions below this are kept in a thread's table: at most 4 MiB for heads of 128.
constexpr int32_t kTablePositions = 8192;

// half cosines, then half sines, of position * theta^(-i/half).
void FillAngles(int32_t position, double theta, int64_t half, float* angles) {
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
    angles[i] = static_cast<float>(std::cos(position * frequency));
    angles[half + i] = static_cast<float>(std::sin(position * frequency));
  }
}

// Angles of positions [0, rows) for one theta and head size; a thread keeps the last one it used.
struct Table {
  double theta = 0;
  int64_t half = 0;
  int32_t rows = 0;
  std::vector<float> angles;
};

const Table& TableFor(double theta, int64_t half, int32_t rows) {
  static thread_local Table table;
  if (table.theta != theta || table.half != half) table = {.theta = theta, .half = half};
  if (table.rows >= rows) return table;
  rows = std::min(kTablePositions, std::max(rows, 2 * table.rows));
  table.angles.resize(rows * 2 * half);
  for (int32_t p = table.rows; p < rows; ++p) {
    FillAngles(p, theta, half, table.angles.data() + p * 2 * half);
  }
  table.rows = rows;
  return table;
}

// All heads, of `size`, at one position.
TRIREME_SIMD void Rotate(const float* x, const float* angles, float* y, int64_t heads, int64_t size,
                         int64_t half, float sign) {
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t low = head * size;
    const int64_t high = low + half;
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float a = x[low + i];
      const float b = x[high + i];
      const float sine = sign * angles[half + i];
      y[low + i] = a * angles[i] - b * sine;
      y[high + i] = b * angles[i] + a * sine;
    }
#pragma omp simd
    for (int64_t i = low + 2 * half; i < low + size; ++i) y[i] = x[i];
  }
}

}  // namespace

void Cpu_rope(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0}) || args.in[0].count() == 0) return Reference_rope(args);
  const Tensor& x = args.in[0];
  const int32_t* positions = args.in[1].i32();
  const int64_t rows = args.in[1].count();
  const int64_t heads = x.size(2);
  const int64_t size = x.size(3);
  const int64_t half = args.attrs.GetInt("rotary_dim", size) / 2;
  const double theta = args.attrs.GetDouble("theta");
  const float sign = args.attrs.GetInt("inverse", 0) != 0 ? -1.0f : 1.0f;
  const int32_t largest = *std::max_element(positions, positions + rows);
  const Table& table =
      TableFor(theta, half, std::clamp<int32_t>(largest, 0, kTablePositions - 1) + 1);
  ParallelRows(args.stream, rows, heads * size, [&](int64_t row) {
    const int32_t position = positions[row];
    const float* angles = nullptr;
    if (position >= 0 && position < table.rows) {
      angles = table.angles.data() + position * 2 * half;
    } else {
      float* fresh = ThreadScratchOf<float>(ScratchSlot::kRows, 2 * half);
      FillAngles(position, theta, half, fresh);
      angles = fresh;
    }
    const int64_t offset = row * heads * size;
    RunSimd<Rotate>(x.f32() + offset, angles, args.out[0].f32() + offset, heads, size, half, sign);
  });
}

}  // namespace trireme
