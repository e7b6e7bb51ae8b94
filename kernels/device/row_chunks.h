// Sums over rows: rows are cut into a number of chunks that depends on their count alone, each
// chunk sums into its own partial vectors, and the partials are added in chunk order. So the result
// does not depend on the number of threads.
#ifndef TRIREME_KERNELS_DEVICE_ROW_CHUNKS_H_
#define TRIREME_KERNELS_DEVICE_ROW_CHUNKS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/device/simd.h"

namespace trireme {

TRIREME_SIMD void AddInto(const float* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

// Chunks for `rows` rows of `columns`: pieces worth a thread, at most 16.
inline int64_t NumRowChunks(int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(rows * columns / kGrainElements, 1, std::min<int64_t>(rows, 16));
}

// Calls f(begin, end, partial) for every chunk of rows, where `partial` is `width` zeros to add to,
// then sets sums[0, width) to the sum of the partials, or adds it when `add`.
template <typename F>
void SumRowChunks(const Stream& stream, int64_t rows, int64_t columns, int64_t width, float* sums,
                  bool add, const F& f) {
  const int64_t chunks = rows == 0 ? 0 : NumRowChunks(rows, columns);
  float* partials =
      ThreadScratchOf<float>(ScratchSlot::kRows, std::max<int64_t>(1, chunks * width));
  ParallelFor(stream, chunks, 1, [&](int64_t chunk, int64_t) {
    std::fill_n(partials + chunk * width, width, 0.0f);
    f(chunk * rows / chunks, (chunk + 1) * rows / chunks, partials + chunk * width);
  });
  if (!add) std::fill_n(sums, width, 0.0f);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    RunSimd<AddInto>(partials + chunk * width, sums, width);
  }
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_ROW_CHUNKS_H_
