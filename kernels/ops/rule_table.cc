// The table of rules, from op_list.inc.
#include <map>
#include <string>

#include "common/base/check.h"
#include "common/base/math.h"
#include "kernels/ops/rule.h"

namespace trireme {

#define TRIREME_OP(name) OpRule Rule_##name();
#define TRIREME_OP_REFERENCE(name) OpRule Rule_##name();
#define TRIREME_OP_VIEW(name) OpRule Rule_##name();
#include "kernels/ops/op_list.inc"
#undef TRIREME_OP
#undef TRIREME_OP_REFERENCE
#undef TRIREME_OP_VIEW

const std::vector<const OpRule*>& AllRules() {
  static const std::vector<const OpRule*>* const rules = new std::vector<const OpRule*>{
#define TRIREME_OP(name) new OpRule(Rule_##name()),
#define TRIREME_OP_REFERENCE(name) new OpRule(Rule_##name()),
#define TRIREME_OP_VIEW(name) new OpRule(Rule_##name()),
#include "kernels/ops/op_list.inc"
#undef TRIREME_OP
#undef TRIREME_OP_REFERENCE
#undef TRIREME_OP_VIEW
  };
  return *rules;
}

const OpRule& FindRule(std::string_view op) {
  static const auto* const by_name = [] {
    auto* map = new std::map<std::string_view, const OpRule*>;
    for (const OpRule* rule : AllRules()) (*map)[rule->name] = rule;
    return map;
  }();
  const auto it = by_name->find(op);
  CHECK(it != by_name->end()) << "unknown op " << op;
  return *it->second;
}

uint64_t OpTableHash() {
  std::string names;
  for (const OpRule* rule : AllRules()) names += std::string(rule->name) + ",";
  return StableHash(names);
}

}  // namespace trireme
