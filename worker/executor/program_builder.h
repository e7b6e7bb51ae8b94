// Writes small programs by hand, for the tests of worker/: one code a phase, each operand its own
// binding.
#ifndef TRIREME_WORKER_EXECUTOR_PROGRAM_BUILDER_H_
#define TRIREME_WORKER_EXECUTOR_PROGRAM_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "common/base/math.h"
#include "common/plan/rank_program.h"

namespace trireme {

// Dense memory at a fixed place.
struct Operand {
  Place place;
  std::vector<int64_t> sizes;
  DType dtype = DType::kFloat32;
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(RankProgram& program) : program_(program) {}

  // Appends an instruction to the (single) code of `phase`.
  Instruction& Add(Phase phase, const std::string& op, const Attrs& attrs,
                   const std::vector<Operand>& in, const std::vector<Operand>& out) {
    Instance& instance = InstanceOf(phase);
    SegmentCode& code = program_.program.codes[instance.code];
    Instruction instruction;
    instruction.op = op;
    instruction.attrs = attrs;
    for (const Operand& operand : in) instruction.in.push_back(Bind(operand, instance, code));
    for (const Operand& operand : out) instruction.out.push_back(Bind(operand, instance, code));
    if (IsCollective(op) && !in.empty() && !out.empty() && in[0].place == out[0].place) {
      instruction.out = instruction.in;
    }
    code.instructions.push_back(std::move(instruction));
    return code.instructions.back();
  }

  void Run(Phase phase, int microbatch = -1, int slot = -1) {
    program_.schedule.items.push_back(
        {.kind = ItemKind::kRun, .phase = phase, .microbatch = microbatch, .slot = slot});
  }

 private:
  Instance& InstanceOf(Phase phase) {
    StageProgram& p = program_.program;
    ChunkProgram& chunk = p.chunks[0];
    std::vector<Instance>* const lists[] = {&chunk.forward, &chunk.backward, &chunk.weight_grad,
                                            &p.init,        &p.gather,       &p.update1,
                                            &p.update2};
    std::vector<Instance>& list = *lists[static_cast<int>(phase)];
    if (list.empty()) {
      list.push_back({.code = static_cast<int32_t>(p.codes.size())});
      p.codes.push_back({.name = "code." + std::string(Name(phase)), .phase = phase});
    }
    return list[0];
  }

  static View Bind(const Operand& operand, Instance& instance, SegmentCode& code) {
    instance.places.push_back(operand.place);
    code.bindings.push_back("b" + std::to_string(code.bindings.size()));
    return {.binding = static_cast<int32_t>(code.bindings.size()) - 1,
            .sizes = operand.sizes,
            .strides = DenseStrides(operand.sizes),
            .dtype = operand.dtype};
  }

  RankProgram& program_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_EXECUTOR_PROGRAM_BUILDER_H_
