// The lockstep interpreter: runs the programs of all ranks of a plan in one process, on one kernel
// set (the references by default), with simulated collectives that complete only when every member
// stands at the same call. Collectives that run beside the computation are put off as long as their
// waits allow and read and write memory only then, so a missing wait shows in the numbers. Proves a
// layout in milliseconds and names the ranks that wait when it cannot go on.
#ifndef TRIREME_TESTS_SUPPORT_LOCKSTEP_H_
#define TRIREME_TESTS_SUPPORT_LOCKSTEP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/plan/plan.h"
#include "common/plan/resolve.h"

namespace trireme {

// One sequence of the global batch: tokens and targets of `sequence_length` positions.
struct SequenceData {
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
  std::vector<float> weights;  // empty = all 1
};
using SequenceSource = std::function<SequenceData(int64_t step, int64_t sequence)>;

struct LockstepResult {
  double loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  double weight = 0;
  std::vector<double> router_stats;  // of all layers, as ScalarPlacement lays them out
};

class Lockstep {
 public:
  enum class Kernels { kReference, kCpu };

  // `plan` must outlive the interpreter. Errors: kInternal when a program addresses memory it does
  // not have.
  static StatusOr<std::unique_ptr<Lockstep>> Create(const Plan& plan, SequenceSource source,
                                                    Kernels kernels = Kernels::kReference);

  ~Lockstep();

  // Initial weights, as the INIT code makes them.
  Status Init();
  // One training step. Errors: kInternal naming the ranks and the calls they wait in.
  StatusOr<LockstepResult> RunStep(int64_t step);

  enum class What { kParam, kGrad, kState0, kState1 };
  // The whole logical tensor (no padding), put together from the ranks' shards; ranks that repeat a
  // shard must agree bit for bit. kGrad: the reduced gradient after a step, times grad_scale-free
  // correction (as the optimizer reads it).
  StatusOr<std::vector<float>> Tensor(const std::string& name, What what) const;
  // Sets a parameter's shards on all ranks that hold it.
  Status SetParam(const std::string& name, const std::vector<float>& values);
  std::vector<std::string> TensorNames() const;

 private:
  struct Rank;
  struct Op;
  Lockstep(const Plan& plan, SequenceSource source, Kernels kernels);
  void AddRank(int64_t rank);
  std::vector<Op> StepOps(Rank& rank) const;
  void FillInputs(Rank& rank, int64_t step, int32_t microbatch, int32_t slot);
  Status Drive(std::vector<std::vector<Op>>& ops, int64_t step);
  bool TryCollective(std::vector<std::vector<Op>>& ops, int64_t rank);
  bool Step(std::vector<std::vector<Op>>& ops, Rank& rank, int64_t step);
  bool TryExchange(std::vector<std::vector<Op>>& ops, int64_t rank);
  void RunKernel(Rank& rank, const Op& op);
  std::string Stuck(const std::vector<std::vector<Op>>& ops) const;

  const Plan& plan_;
  SequenceSource source_;
  Kernels kernels_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace trireme

#endif  // TRIREME_TESTS_SUPPORT_LOCKSTEP_H_
