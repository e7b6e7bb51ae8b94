// The table of kernels, from op_list.inc.
#include <map>

#include "common/base/check.h"
#include "kernels/ops/kernel.h"

namespace trireme {

#define TRIREME_OP(name)                 \
  void Reference_##name(const KernelArgs&); \
  void Cpu_##name(const KernelArgs&);
#define TRIREME_OP_REFERENCE(name) void Reference_##name(const KernelArgs&);
#define TRIREME_OP_VIEW(name)
#include "kernels/ops/op_list.inc"
#undef TRIREME_OP
#undef TRIREME_OP_REFERENCE
#undef TRIREME_OP_VIEW

const OpKernels& FindKernels(std::string_view op) {
  static const auto* const by_name = new std::map<std::string_view, OpKernels>{
#define TRIREME_OP(name) {#name, {Reference_##name, Cpu_##name}},
#define TRIREME_OP_REFERENCE(name) {#name, {Reference_##name, Reference_##name}},
#define TRIREME_OP_VIEW(name) {#name, {}},
#include "kernels/ops/op_list.inc"
#undef TRIREME_OP
#undef TRIREME_OP_REFERENCE
#undef TRIREME_OP_VIEW
  };
  const auto it = by_name->find(op);
  CHECK(it != by_name->end()) << "unknown op " << op;
  return it->second;
}

}  // namespace trireme
