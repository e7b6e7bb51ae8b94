// `--set train.steps=10` on the tree of a job file, before it is checked.
#ifndef TRIREME_COMMON_CONFIG_OVERRIDES_H_
#define TRIREME_COMMON_CONFIG_OVERRIDES_H_

#include <string>

#include "common/base/status.h"
#include "common/config/config_node.h"

namespace trireme {

// Puts the YAML value after the first '=' at the dotted path before it, making maps on the way; a
// number in the path is an index into a list that exists. The new value's `where` is "--set
// <path>". Errors: kInvalidArgument when there is no '=', an empty part, a bad value, or the path
// crosses a scalar.
Status ApplyOverride(const std::string& override_text, ConfigNode* root);

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_OVERRIDES_H_
