// Tiles of 6 x 16 sums stay in registers: a tile reads one packed panel (16 columns of b) and
// broadcasts 6 rows of a, which need not be packed when they are contiguous. When b is transposed
// its rows take the place of a, c's transpose is computed, and only the small operand and c are
// turned over.
#include "kernels/device/small_gemm.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/math.h"
#include "kernels/device/scratch.h"
#include "kernels/device/simd.h"

namespace trireme {
namespace {

constexpr int64_t kTileRows = 6;
constexpr int64_t kPanel = 16;
constexpr int64_t kLine = 16;  // floats of a cache line
// Lines that are read next are fetched after this many inner elements, a few at a time.
constexpr int64_t kFetchInner = 32;
// A block of b is at most this wide, and has about this many elements: 256 KiB, half of the
// second-level cache, because the next block and a's rows come through it too.
constexpr int64_t kBlockColumns = 512;
constexpr int64_t kBlockElements = 64 * 1024;
// Inner elements of a packed panel, which stays in the first-level cache: 16 KiB. With b
// transposed 32 KiB, because then whole rows of b are read.
constexpr int64_t kMinInner = 64;
constexpr int64_t kMaxInner = 256;
constexpr int64_t kTurnedInner = 512;
// Rows of c that are computed with one block of b; with a transposed as many as make 192 KiB of
// tiles.
constexpr int64_t kBlockRows = 192;
constexpr int64_t kTileElements = 48 * 1024;
// Rows of c, and rows of b that stay in the second-level cache, with b transposed.
constexpr int64_t kTurnedRows = 96;

// Eight floats anywhere in memory.
using Vec8 = float __attribute__((vector_size(32), aligned(4), may_alias));

// Lines of a matrix in memory.
struct Upcoming {
  const float* data = nullptr;
  int64_t ld = 0;
  int64_t rows = 0;
  int64_t row_lines = 0;

  int64_t lines() const { return rows * row_lines; }
};

// A panel's product: c[r, 0..columns) (+)= sum_k a[r * a_row + k * a_inner] panel[k * 16 + ...].
struct PanelJob {
  const float* a = nullptr;
  int64_t a_row = 0;
  int64_t a_inner = 0;
  int64_t a_tile = 0;  // from one tile of rows to the next
  int64_t rows = 0;
  const float* panel = nullptr;
  int64_t inner = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t columns = 0;
  bool add = false;
  // Memory that will be read next: this job's share of it is fetched evenly during the work.
  const Upcoming* next = nullptr;
  int64_t next_begin = 0;  // lines
  int64_t next_end = 0;
};

// The lines of a job's share, fetched a few at a time.
struct Fetch {
  const float* row = nullptr;
  int64_t line = 0;
  int64_t row_lines = 1;
  int64_t ld = 0;
  int64_t left = 0;
};

TRIREME_SIMD Fetch StartFetch(const PanelJob& job) {
  const int64_t count = job.next_end - job.next_begin;
  if (count <= 0) return {};
  const Upcoming& next = *job.next;
  return {next.data + job.next_begin / next.row_lines * next.ld, job.next_begin % next.row_lines,
          next.row_lines, next.ld, count};
}

TRIREME_SIMD void FetchLines(Fetch& fetch, int64_t count) {
  for (count = std::min(count, fetch.left); count > 0; --count) {
    __builtin_prefetch(fetch.row + fetch.line * kLine, 0, 2);
    --fetch.left;
    if (++fetch.line < fetch.row_lines) continue;
    fetch.line = 0;
    fetch.row += fetch.ld;
  }
}

// `fetch_step`: lines to fetch for every kFetchInner inner elements; all at once they would take
// the place of the loads that the tile waits for.
template <int kRows>
TRIREME_SIMD void Tile(const PanelJob& job, const float* a, float* c, Fetch& fetch,
                       int64_t fetch_step) {
  Vec8 low[kRows], high[kRows];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    low[r] = high[r] = Vec8{};
    __builtin_prefetch(c + r * job.ldc, 1);
  }
  const float* panel = job.panel;
  const int64_t a_row = job.a_row, a_inner = job.a_inner, inner = job.inner;
  for (int64_t k = 0; k < inner;) {
    FetchLines(fetch, fetch_step);
    for (const int64_t end = std::min(inner, k + kFetchInner); k < end;
         ++k, panel += kPanel, a += a_inner) {
      const Vec8 b_low = *reinterpret_cast<const Vec8*>(panel);
      const Vec8 b_high = *reinterpret_cast<const Vec8*>(panel + 8);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const float x = a[r * a_row];
        const Vec8 all = {x, x, x, x, x, x, x, x};
        low[r] += all * b_low;
        high[r] += all * b_high;
      }
    }
  }
  if (job.columns == kPanel) {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      Vec8* out_low = reinterpret_cast<Vec8*>(c + r * job.ldc);
      Vec8* out_high = reinterpret_cast<Vec8*>(c + r * job.ldc + 8);
      if (job.add) {
        low[r] += *out_low;
        high[r] += *out_high;
      }
      *out_low = low[r];
      *out_high = high[r];
    }
    return;
  }
  float sums[kRows * kPanel];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    *reinterpret_cast<Vec8*>(sums + r * kPanel) = low[r];
    *reinterpret_cast<Vec8*>(sums + r * kPanel + 8) = high[r];
  }
  for (int r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < job.columns; ++i) {
      float& out = c[r * job.ldc + i];
      out = job.add ? out + sums[r * kPanel + i] : sums[r * kPanel + i];
    }
  }
}

TRIREME_SIMD void RunTiles(const PanelJob* job_pointer) {
  const PanelJob job = *job_pointer;
  const int64_t tiles = CeilDiv(job.rows, kTileRows);
  Fetch fetch = StartFetch(job);
  const int64_t fetch_step = CeilDiv(fetch.left, tiles * CeilDiv(job.inner, kFetchInner));
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const float* a = job.a + tile * job.a_tile;
    float* c = job.c + tile * kTileRows * job.ldc;
    switch (std::min(kTileRows, job.rows - tile * kTileRows)) {
      case 1:
        Tile<1>(job, a, c, fetch, fetch_step);
        break;
      case 2:
        Tile<2>(job, a, c, fetch, fetch_step);
        break;
      case 3:
        Tile<3>(job, a, c, fetch, fetch_step);
        break;
      case 4:
        Tile<4>(job, a, c, fetch, fetch_step);
        break;
      case 5:
        Tile<5>(job, a, c, fetch, fetch_step);
        break;
      default:
        Tile<6>(job, a, c, fetch, fetch_step);
    }
  }
}

// Columns of src in panels: dst[c / 16 * stride + k * 16 + c % 16] = src[k * ld + c], filled up
// with zeros.
TRIREME_SIMD void PackPanels(const float* src, int64_t ld, int64_t inner, int64_t columns,
                             float* dst, int64_t stride) {
  const int64_t whole = columns / kPanel;
  for (int64_t k = 0; k < inner; ++k, src += ld, dst += kPanel) {
    float* to = dst;
    for (int64_t panel = 0; panel < whole; ++panel, to += stride) {
      const float* from = src + panel * kPanel;
      *reinterpret_cast<Vec8*>(to) = *reinterpret_cast<const Vec8*>(from);
      *reinterpret_cast<Vec8*>(to + 8) = *reinterpret_cast<const Vec8*>(from + 8);
    }
    for (int64_t c = whole * kPanel; c < RoundUp(columns, kPanel); ++c) {
      to[c % kPanel] = c < columns ? src[c] : 0.0f;
    }
  }
}

// Rows of a^T, given as a transposed view, in tiles: dst[tile][k][6].
TRIREME_SIMD void PackTiles(const float* src, int64_t ld, int64_t inner, int64_t rows, float* dst) {
  for (int64_t r = 0; r < rows; r += kTileRows) {
    const int64_t count = std::min(kTileRows, rows - r);
    for (int64_t k = 0; k < inner; ++k, dst += kTileRows) {
      const float* from = src + k * ld + r;
      if (count == kTileRows) {
        for (int64_t i = 0; i < kTileRows; ++i) dst[i] = from[i];
      } else {
        for (int64_t i = 0; i < count; ++i) dst[i] = from[i];
      }
    }
  }
}

// An 8 x 8 block turned over, added to what is there when `add`.
TRIREME_SIMD void TurnBlock(const float* src, int64_t ld_src, float* dst, int64_t ld_dst,
                            bool add) {
  Vec8 x[8], y[8];
  for (int i = 0; i < 8; ++i) x[i] = *reinterpret_cast<const Vec8*>(src + i * ld_src);
  for (int i = 0; i < 8; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      const Vec8 a = y[i + j], b = y[i + j + 2];
      x[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      x[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    y[i] = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    y[i + 4] = __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) {
    Vec8* out = reinterpret_cast<Vec8*>(dst + i * ld_dst);
    *out = add ? *out + y[i] : y[i];
  }
}

// dst[c * ld_dst + r] (+)= src[r * ld_src + c].
TRIREME_SIMD void Turn(const float* src, int64_t ld_src, int64_t rows, int64_t columns, float* dst,
                       int64_t ld_dst, bool add) {
  for (int64_t r = 0; r < rows; r += 8) {
    for (int64_t c = 0; c < columns; c += 8) {
      if (r + 8 <= rows && c + 8 <= columns) {
        TurnBlock(src + r * ld_src + c, ld_src, dst + c * ld_dst + r, ld_dst, add);
        continue;
      }
      for (int64_t i = r; i < std::min(rows, r + 8); ++i) {
        for (int64_t j = c; j < std::min(columns, c + 8); ++j) {
          float& out = dst[j * ld_dst + i];
          out = add ? out + src[i * ld_src + j] : src[i * ld_src + j];
        }
      }
    }
  }
}

MatrixView Shifted(const MatrixView& x, int64_t row, int64_t column) {
  return {x.data + (x.transposed ? column * x.ld + row : row * x.ld + column), x.ld, x.transposed};
}

// Shares the lines of `next` out over a number of jobs.
struct Share {
  const Upcoming& next;
  int64_t jobs = 1;
  int64_t done = 0;

  void Give(PanelJob& job) {
    job.next = &next;
    job.next_begin = done * next.lines() / jobs;
    job.next_end = std::min(++done, jobs) * next.lines() / jobs;
  }
};

// Panels of columns [0, shape.n) of b packed by PackPanels.
struct Panels {
  const float* data = nullptr;
  int64_t stride = 0;
};

Panels Pack(const MatrixView& b, const GemmShape& shape) {
  const int64_t stride = shape.k * kPanel + kLine;  // no power of two: panels use all cache sets
  float* data = ThreadScratchOf<float>(ScratchSlot::kPackB, CeilDiv(shape.n, kPanel) * stride);
  RunSimd<PackPanels>(b.data, b.ld, shape.k, shape.n, data, stride);
  return {data, stride};
}

// All panels with the rows that `job` describes; `c` is their first column.
void RunPanels(PanelJob job, const Panels& panels, int64_t columns, float* c, Share& share) {
  for (int64_t n = 0; n < columns; n += kPanel) {
    job.columns = std::min(kPanel, columns - n);
    job.panel = panels.data + n / kPanel * panels.stride;
    job.c = c + n;
    share.Give(job);
    RunSimd<RunTiles>(static_cast<const PanelJob*>(&job));
  }
}

// At most kBlockColumns columns of c = a b: the rows of b's block are read one after the other, and
// the next block while this one is used. `upcoming`: what is read after the last.
void MultiplyColumns(const GemmShape& shape, const MatrixView& a, const MatrixView& b, float* c,
                     int64_t ldc, bool add, const float* upcoming) {
  const int64_t block =
      std::min(shape.k, std::clamp(kBlockElements / shape.n, kMinInner, kMaxInner));
  for (int64_t k = 0; k < shape.k; k += block) {
    const int64_t inner = std::min(block, shape.k - k);
    const Panels panels = Pack(Shifted(b, k, 0), {.m = shape.m, .n = shape.n, .k = inner});
    const bool last = k + inner == shape.k;
    const int64_t next_rows = last ? block : std::min(block, shape.k - k - inner);
    const Upcoming next = {last ? upcoming : b.data + (k + inner) * b.ld, b.ld,
                           last && upcoming == nullptr ? 0 : next_rows, CeilDiv(shape.n, kLine)};
    Share share = {next, CeilDiv(shape.m, kBlockRows) * CeilDiv(shape.n, kPanel)};
    for (int64_t m = 0; m < shape.m; m += kBlockRows) {
      const PanelJob job = {.a = a.data + m * a.ld + k,
                            .a_row = a.ld,
                            .a_inner = 1,
                            .a_tile = kTileRows * a.ld,
                            .rows = std::min(kBlockRows, shape.m - m),
                            .inner = inner,
                            .ldc = ldc,
                            .add = add || k > 0};
      RunPanels(job, panels, shape.n, c + m * ldc, share);
    }
  }
}

// Rows [0, shape.m) and inner elements [0, shape.k) of a product whose a is transposed: its tiles
// are packed once for all columns.
void MultiplyTiles(const GemmShape& shape, const MatrixView& a, const MatrixView& b, float* c,
                   int64_t ldc, bool add) {
  float* tiles = ThreadScratchOf<float>(ScratchSlot::kPackA, RoundUp(shape.m, kTileRows) * shape.k);
  RunSimd<PackTiles>(a.data, a.ld, shape.k, shape.m, tiles);
  const PanelJob job = {.a = tiles,
                        .a_row = 1,
                        .a_inner = kTileRows,
                        .a_tile = kTileRows * shape.k,
                        .rows = shape.m,
                        .inner = shape.k,
                        .ldc = ldc,
                        .add = add};
  const int64_t block = std::min(kBlockColumns, kBlockElements / shape.k / kPanel * kPanel);
  for (int64_t n = 0; n < shape.n; n += block) {
    const int64_t columns = std::min(block, shape.n - n);
    const Panels panels = Pack(Shifted(b, 0, n), {.m = shape.m, .n = columns, .k = shape.k});
    const Upcoming next = {};
    Share share = {next};
    RunPanels(job, panels, columns, c + n, share);
  }
}

// c^T = b^T a^T for at most kTurnedRows rows and kBlockColumns columns of c.
void MultiplyTurned(const GemmShape& shape, const MatrixView& a, const MatrixView& b, float* c,
                    int64_t ldc, bool add, const float* upcoming) {
  const int64_t width = RoundUp(shape.m, kPanel);
  float* turned = ThreadScratchOf<float>(ScratchSlot::kPackOut, shape.n * width);
  float* panels = ThreadScratchOf<float>(ScratchSlot::kPackB, width * kTurnedInner);
  for (int64_t k = 0; k < shape.k; k += kTurnedInner) {
    const int64_t inner = std::min(kTurnedInner, shape.k - k);
    for (int64_t m = 0; m < width; m += kPanel) {
      const int64_t rows = std::min(kPanel, shape.m - m);
      if (rows < kPanel) std::fill_n(panels + m * inner, kPanel * inner, 0.0f);
      RunSimd<Turn>(a.data + m * a.ld + k, a.ld, rows, inner, panels + m * inner, kPanel, false);
    }
    for (int64_t n = 0; n < shape.n; n += kTurnedRows) {
      const int64_t n_next = n + kTurnedRows < shape.n ? n + kTurnedRows : 0;
      const int64_t k_next = n_next > 0 ? k : (k + inner) % shape.k;
      const float* next_data = n_next + k_next > 0 ? b.data + n_next * b.ld + k_next : upcoming;
      const Upcoming next = {next_data, b.ld,
                             next_data == nullptr ? 0 : std::min(kTurnedRows, shape.n - n_next),
                             CeilDiv(std::min(kTurnedInner, shape.k - k_next), kLine)};
      Share share = {next, width / kPanel};
      PanelJob job = {.a = b.data + n * b.ld + k,
                      .a_row = b.ld,
                      .a_inner = 1,
                      .a_tile = kTileRows * b.ld,
                      .rows = std::min(kTurnedRows, shape.n - n),
                      .inner = inner,
                      .ldc = width,
                      .columns = kPanel,
                      .add = k > 0};
      for (int64_t m = 0; m < width; m += kPanel) {
        job.panel = panels + m * inner;
        job.c = turned + n * width + m;
        share.Give(job);
        RunSimd<RunTiles>(static_cast<const PanelJob*>(&job));
      }
    }
  }
  RunSimd<Turn>(static_cast<const float*>(turned), width, shape.n, shape.m, c, ldc, add);
}

}  // namespace

void SmallGemm(const GemmShape& shape, const MatrixView& a, const MatrixView& b, float* c,
               int64_t ldc, bool add, const float* upcoming) {
  CHECK(!a.transposed || !b.transposed) << "at most one operand may be transposed";
  if (shape.k == 0) {
    for (int64_t r = 0; r < shape.m && !add; ++r) std::fill_n(c + r * ldc, shape.n, 0.0f);
    return;
  }
  if (a.transposed) {
    const int64_t inner = std::min(shape.k, kMaxInner);
    const int64_t block = kTileElements / inner / kTileRows * kTileRows;
    for (int64_t m = 0; m < shape.m; m += block) {
      for (int64_t k = 0; k < shape.k; k += inner) {
        MultiplyTiles(
            {.m = std::min(block, shape.m - m), .n = shape.n, .k = std::min(inner, shape.k - k)},
            Shifted(a, m, k), Shifted(b, k, 0), c + m * ldc, ldc, add || k > 0);
      }
    }
    return;
  }
  for (int64_t n = 0; n < shape.n; n += kBlockColumns) {
    const int64_t columns = std::min(kBlockColumns, shape.n - n);
    const MatrixView b_columns = Shifted(b, 0, n);
    const bool last = n + columns == shape.n;
    if (!b.transposed) {
      MultiplyColumns({.m = shape.m, .n = columns, .k = shape.k}, a, b_columns, c + n, ldc, add,
                      last ? upcoming : b_columns.data + columns);
      continue;
    }
    for (int64_t m = 0; m < shape.m; m += kTurnedRows) {
      const int64_t rows = std::min(kTurnedRows, shape.m - m);
      MultiplyTurned({.m = rows, .n = columns, .k = shape.k}, Shifted(a, m, 0), b_columns,
                     c + m * ldc + n, ldc, add, last && m + rows == shape.m ? upcoming : nullptr);
    }
  }
}

}  // namespace trireme
