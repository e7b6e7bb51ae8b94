// dot as matrix products: the letters of an equation fall into batch, row (a and out), column (b
// and out) and inner (a and b) groups. A group that is evenly spaced in memory becomes one matrix
// dim. Where it is not (views of some positions of every batch row), its leading letters become a
// loop over smaller products; operands that still are no matrices are packed.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kernels/device/cpu_util.h"
#include "kernels/device/gemm.h"
#include "kernels/device/parallel.h"
#include "kernels/device/scratch.h"
#include "kernels/ops/dot/equation.h"
#include "kernels/ops/kernel.h"

namespace trireme {

void Reference_dot(const KernelArgs& args);

namespace {

// Products below this many multiply-adds run one a thread where there are several.
constexpr int64_t kSmallProduct = 1 << 21;
// Rows, columns or inner elements that a product must keep for a loop to be better than packing.
constexpr int64_t kMinPeeled = 16;

// Sizes of the letters, by letter - 'a'.
using LetterSizes = std::array<int64_t, 26>;

// Letters of one group as memory sees them in one operand, outermost first.
struct Group {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  int64_t count() const { return Product(sizes); }
};

// Letters that the operand does not have repeat it: stride 0.
Group MakeGroup(const Tensor& tensor, const std::string& letters, const std::string& group,
                const LetterSizes& sizes) {
  Group result;
  for (const char letter : group) {
    const int64_t size = sizes[letter - 'a'];
    if (size == 1) continue;
    const size_t d = letters.find(letter);
    result.sizes.push_back(size);
    result.strides.push_back(d == std::string::npos ? 0 : tensor.strides[d]);
  }
  return result;
}

// The stride of the group as one dim, 1 when it holds one element, -1 when memory does not allow
// it.
int64_t CollapsedStride(const Group& group) {
  for (size_t i = 0; i + 1 < group.sizes.size(); ++i) {
    if (group.strides[i] != group.strides[i + 1] * group.sizes[i + 1]) return -1;
  }
  return group.strides.empty() ? 1 : group.strides.back();
}

// Offset of the `index`-th element of the group in row-major order.
int64_t OffsetIn(const Group& group, int64_t index) {
  int64_t offset = 0;
  for (int i = static_cast<int>(group.sizes.size()) - 1; i >= 0; --i) {
    offset += index % group.sizes[i] * group.strides[i];
    index /= group.sizes[i];
  }
  return offset;
}

// One operand as a matrix for each index of the loops around the product.
struct Operand {
  float* data = nullptr;
  Group batch, sum, rows, columns;
  int64_t ld = 0;
  bool transposed = false;
  bool direct = false;  // ld and transposed describe it; otherwise it must be packed

  MatrixView View(int64_t offset) const { return {data + offset, ld, transposed}; }
};

// The letters of an equation by what they are to the product.
struct Letters {
  std::string batch;  // loops around it
  std::string sum;    // loops whose products are added up
  std::string rows, columns, inner;
  LetterSizes sizes = {};
};

Operand MakeOperand(const Tensor& tensor, const std::string& own, const Letters& letters,
                    const std::string& rows, const std::string& columns) {
  Operand operand = {.data = tensor.f32(),
                     .batch = MakeGroup(tensor, own, letters.batch, letters.sizes),
                     .sum = MakeGroup(tensor, own, letters.sum, letters.sizes),
                     .rows = MakeGroup(tensor, own, rows, letters.sizes),
                     .columns = MakeGroup(tensor, own, columns, letters.sizes)};
  const int64_t num_rows = operand.rows.count();
  const int64_t num_columns = operand.columns.count();
  const int64_t row_stride = CollapsedStride(operand.rows);
  const int64_t column_stride = CollapsedStride(operand.columns);
  if (row_stride < 0 || column_stride < 0) return operand;
  if (num_columns == 1 || (column_stride == 1 && (num_rows == 1 || row_stride >= num_columns))) {
    operand.direct = true;
    operand.ld = num_rows == 1 ? num_columns : row_stride;
  } else if (num_rows == 1 || (row_stride == 1 && column_stride >= num_rows)) {
    operand.direct = true;
    operand.transposed = true;
    operand.ld = column_stride;
  }
  return operand;
}

// Copies between the operand's matrix at `offset` and a dense row-major one. kToDense packs;
// the others unpack.
enum class Direction : uint8_t { kToDense, kFromDense, kAddFromDense };
void CopyMatrix(const Stream& stream, const Operand& operand, int64_t offset, float* dense,
                Direction direction) {
  const int64_t columns = operand.columns.count();
  std::vector<int64_t> offsets(columns);
  for (int64_t c = 0; c < columns; ++c) offsets[c] = OffsetIn(operand.columns, c);
  ParallelRows(stream, operand.rows.count(), columns, [&](int64_t r) {
    float* row = operand.data + offset + OffsetIn(operand.rows, r);
    float* dense_row = dense + r * columns;
    for (int64_t c = 0; c < columns; ++c) {
      if (direction == Direction::kToDense) dense_row[c] = row[offsets[c]];
      if (direction == Direction::kFromDense) row[offsets[c]] = dense_row[c];
      if (direction == Direction::kAddFromDense) row[offsets[c]] += dense_row[c];
    }
  });
}

// The operand's matrix, packed into the slot's scratch unless it can be read in place.
MatrixView ReadMatrix(const Stream& stream, const Operand& operand, int64_t offset,
                      ScratchSlot slot) {
  if (operand.direct) return operand.View(offset);
  const int64_t columns = operand.columns.count();
  float* dense = ThreadScratchOf<float>(slot, operand.rows.count() * columns);
  CopyMatrix(stream, operand, offset, dense, Direction::kToDense);
  return {dense, columns, false};
}

struct Problem {
  Operand a, b, out;
  GemmShape shape;
  bool add = false;
};

// One product; `stream` says with how many threads.
void RunProduct(const Stream& stream, const Problem& problem, int64_t batch, int64_t sum) {
  const auto offset_in = [&](const Operand& operand) {
    return OffsetIn(operand.batch, batch) + OffsetIn(operand.sum, sum);
  };
  const int64_t out_offset = offset_in(problem.out);
  const MatrixView a = ReadMatrix(stream, problem.a, offset_in(problem.a), ScratchSlot::kPackA);
  const MatrixView b = ReadMatrix(stream, problem.b, offset_in(problem.b), ScratchSlot::kPackB);
  const GemmShape& shape = problem.shape;
  const bool add = problem.add || sum > 0;
  if (problem.out.direct && !problem.out.transposed) {
    Gemm(stream.num_threads, shape, a, b, problem.out.data + out_offset, problem.out.ld, add);
    return;
  }
  float* dense = ThreadScratchOf<float>(ScratchSlot::kPackOut, shape.m * shape.n);
  Gemm(stream.num_threads, shape, a, b, dense, shape.n, false);
  CopyMatrix(stream, problem.out, out_offset, dense,
             add ? Direction::kAddFromDense : Direction::kFromDense);
}

// One batch index.
void RunBatch(const Stream& stream, const Problem& problem, int64_t batch) {
  const int64_t sums = problem.out.sum.count();
  for (int64_t sum = 0; sum < sums; ++sum) RunProduct(stream, problem, batch, sum);
}

std::string Keep(const std::string& letters, bool (*keep)(const Equation&, char),
                 const Equation& equation) {
  std::string kept;
  for (const char letter : letters) {
    if (keep(equation, letter)) kept += letter;
  }
  return kept;
}

// An operand and its letters.
struct Lettered {
  const Tensor& tensor;
  const std::string& letters;
};

// Moves leading letters of `group` to `loop` until the rest is evenly spaced in both operands that
// have it; moves none when too little would be left.
void Peel(const Lettered& x, const Lettered& y, const LetterSizes& sizes, std::string& group,
          std::string& loop) {
  std::string rest = group;
  const auto is_even = [&](const Lettered& operand) {
    return CollapsedStride(MakeGroup(operand.tensor, operand.letters, rest, sizes)) >= 0;
  };
  while (!is_even(x) || !is_even(y)) rest.erase(0, 1);
  int64_t count = 1;
  for (const char letter : rest) count *= sizes[letter - 'a'];
  if (count < kMinPeeled) return;
  loop += group.substr(0, group.size() - rest.size());
  group = rest;
}

Letters SortLetters(const KernelArgs& args, const Equation& equation) {
  Letters letters;
  for (size_t d = 0; d < equation.a.size(); ++d) {
    letters.sizes[equation.a[d] - 'a'] = args.in[0].sizes[d];
  }
  for (size_t d = 0; d < equation.b.size(); ++d) {
    letters.sizes[equation.b[d] - 'a'] = args.in[1].sizes[d];
  }
  letters.batch = Keep(
      equation.out,
      [](const Equation& e, char l) { return HasLetter(e.a, l) && HasLetter(e.b, l); }, equation);
  letters.rows = Keep(
      equation.out, [](const Equation& e, char l) { return !HasLetter(e.b, l); }, equation);
  letters.columns = Keep(
      equation.out, [](const Equation& e, char l) { return !HasLetter(e.a, l); }, equation);
  letters.inner = Keep(
      equation.a, [](const Equation& e, char l) { return !HasLetter(e.out, l); }, equation);
  const Lettered a{args.in[0], equation.a}, b{args.in[1], equation.b};
  const Lettered out{args.out[0], equation.out};
  Peel(a, out, letters.sizes, letters.rows, letters.batch);
  Peel(b, out, letters.sizes, letters.columns, letters.batch);
  Peel(a, b, letters.sizes, letters.inner, letters.sum);
  return letters;
}

Problem MakeProblem(const KernelArgs& args, const Equation& equation) {
  const Letters letters = SortLetters(args, equation);
  Problem problem = {
      .a = MakeOperand(args.in[0], equation.a, letters, letters.rows, letters.inner),
      .b = MakeOperand(args.in[1], equation.b, letters, letters.inner, letters.columns),
      .out = MakeOperand(args.out[0], equation.out, letters, letters.rows, letters.columns),
      .add = args.accumulate};
  problem.shape = {.m = problem.out.rows.count(),
                   .n = problem.out.columns.count(),
                   .k = problem.a.columns.count()};
  return problem;
}

}  // namespace

void Cpu_dot(const KernelArgs& args) {
  if (!AreFloat32(args.in, {0, 1}) || !AreFloat32(args.out, {0})) return Reference_dot(args);
  StatusOr<Equation> parsed = ParseEquation(args.attrs.GetString("equation"));
  CHECK_OK(parsed.status());
  Problem problem = MakeProblem(args, *parsed);
  if (problem.out.direct && problem.out.transposed) {  // compute the transpose: out^T = b^T a^T
    const Equation swapped = {parsed->b, parsed->a, parsed->out};
    const std::vector<Tensor> in = {args.in[1], args.in[0]};
    problem = MakeProblem({args.stream, args.attrs, in, args.out, args.accumulate}, swapped);
  }
  const int64_t batches = problem.out.batch.count();
  const GemmShape& shape = problem.shape;
  if (batches > 1 && shape.m * shape.n * shape.k <= kSmallProduct) {
    Stream serial = {.num_threads = 1};
    ParallelFor(args.stream, batches, 1, [&](int64_t begin, int64_t end) {
      for (int64_t batch = begin; batch < end; ++batch) RunBatch(serial, problem, batch);
    });
    return;
  }
  for (int64_t batch = 0; batch < batches; ++batch) RunBatch(args.stream, problem, batch);
}

}  // namespace trireme
