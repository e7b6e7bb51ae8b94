// Splits loops over the stream's threads. Results never depend on the number of threads: a piece is
// computed alike whoever takes it, and sums over pieces are made in piece order.
#ifndef TRIREME_KERNELS_DEVICE_PARALLEL_H_
#define TRIREME_KERNELS_DEVICE_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#include "common/base/math.h"
#include "kernels/device/tensor.h"

namespace trireme {

// Elements of a memory-bound loop that are worth waking another thread for.
inline constexpr int64_t kGrainElements = 8192;

// f(begin, end) over consecutive pieces of [0, count), each of `grain` but the last.
template <typename F>
void ParallelFor(const Stream& stream, int64_t count, int64_t grain, const F& f) {
  const int64_t pieces = CeilDiv(count, grain);
  if (pieces <= 1 || stream.num_threads <= 1) {
    for (int64_t i = 0; i < pieces; ++i) f(i * grain, std::min(count, (i + 1) * grain));
    return;
  }
#pragma omp parallel for num_threads(stream.num_threads) schedule(static)
  for (int64_t i = 0; i < pieces; ++i) f(i * grain, std::min(count, (i + 1) * grain));
}

// f(row) for every row, where a row costs about `row_elements` elements of work.
template <typename F>
void ParallelRows(const Stream& stream, int64_t rows, int64_t row_elements, const F& f) {
  const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, row_elements));
  ParallelFor(stream, rows, grain, [&f](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

// f(task) for few tasks of unequal cost, handed out one at a time.
template <typename F>
void ParallelTasks(const Stream& stream, int64_t tasks, const F& f) {
  if (tasks <= 1 || stream.num_threads <= 1) {
    for (int64_t i = 0; i < tasks; ++i) f(i);
    return;
  }
#pragma omp parallel for num_threads(stream.num_threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < tasks; ++i) f(i);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_PARALLEL_H_
