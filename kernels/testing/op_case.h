// One use of an op in a test: attributes, and inputs described by dims and kind of data. The checks
// that every op's test runs take such a case; they report op, output, first differing index and
// both values as test failures.
//   const OpCase c{.op = "scale", .attrs = {{"factor", 2.0}}, .inputs = {Normal({{"embed", 5}})}};
//   CheckGradient(c);
//   CheckCpuMatchesReference(c, 1e-6);
//   CheckEverySharding(c);
#ifndef TRIREME_KERNELS_TESTING_OP_CASE_H_
#define TRIREME_KERNELS_TESTING_OP_CASE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/rule.h"
#include "kernels/testing/host_tensor.h"

namespace trireme {

enum class DataKind : uint8_t { kNormal, kPositive, kIds, kGiven };

struct OpInput {
  std::vector<Dim> dims;
  DType dtype = DType::kFloat32;
  DataKind data = DataKind::kNormal;
  int64_t bound = 0;           // kIds: ids are in [0, bound)
  std::vector<double> values;  // kGiven
};

// Makers, one a kind of data. Normal: mean 0, deviation 1. Positive: in (0.5, 1.5). Ids: int32.
OpInput Normal(std::vector<Dim> dims, DType dtype = DType::kFloat32);
OpInput Positive(std::vector<Dim> dims, DType dtype = DType::kFloat32);
OpInput Ids(std::vector<Dim> dims, int64_t bound);
OpInput Given(std::vector<Dim> dims, DType dtype, std::vector<double> values);

struct OpCase {
  std::string op;
  Attrs attrs;
  std::vector<OpInput> inputs;
  std::vector<int> grad_inputs = {};    // inputs whose gradient is checked; empty: all float ones
  std::vector<int> grad_outputs = {0};  // outputs that the checked functional weighs
  std::vector<std::string> skip_dims =
      {};  // splits that the rule's expand handles, not the formula
  std::vector<std::pair<int, int>> in_place = {};  // {output, input} that are the same memory
  bool float64 = true;  // gradients and shardings are checked in float64; false: float32 only
  uint64_t seed = 1;
};

// Output types, or the error of the op's Infer.
StatusOr<std::vector<ValueType>> InferCase(const OpCase& c);
// Fails unless Infer refuses the case with kInvalidArgument and a message that contains `part`.
void ExpectInferError(const OpCase& c, const std::string& part);

std::vector<HostTensor> MakeInputs(const OpCase& c);
// The same case with float64 in place of float32.
OpCase InFloat64(OpCase c);

struct RunOptions {
  bool cpu = false;   // else the reference
  bool simt = false;  // the GPU's kernel, compiled for the CPU
  bool accumulate = false;
  int num_threads = 1;
};
// Runs the op over `outputs` as they are (except in_place ones, which start as their input).
// CHECK-fails when Infer refuses the case. Sizes may be local ones; `attrs` then has the index
// attributes.
void RunInto(const OpCase& c, const Attrs& attrs, const std::vector<HostTensor>& inputs,
             const RunOptions& options, std::vector<HostTensor>& outputs);
// Runs the op over fresh outputs, which start as NaN (accumulating ones: as zero).
std::vector<HostTensor> RunOp(const OpCase& c, const std::vector<HostTensor>& inputs,
                              const RunOptions& options = {});

// The op's gradient nodes, run by reference kernels, equal central differences of a random linear
// functional of grad_outputs, within tolerance relative to each gradient's mean.
void CheckGradient(const OpCase& c, double tolerance = 1e-6);
// CPU kernel equals reference, for one and two threads; outputs that accumulate also when
// accumulating; and the reference accumulates what it would have written. The GPU's kernel, where
// there is one, equals it too: run on the CPU, on cases that are small enough, in two orders of
// warps.
void CheckCpuMatchesReference(const OpCase& c, double tolerance);
// For every dim that may be split, and 2 and 3 parts where they divide it: the reference on the
// parts, outputs with the dim put together and the others added up, equals the reference on the
// whole. Fails when no dim could be split.
void CheckEverySharding(const OpCase& c, double tolerance = 1e-9);

}  // namespace trireme

#endif  // TRIREME_KERNELS_TESTING_OP_CASE_H_
