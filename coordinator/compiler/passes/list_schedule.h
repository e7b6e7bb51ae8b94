// Orders the nodes of each phase so that collectives which run beside others start as early as
// their inputs allow, and what reads them stands as late as other work lasts.
#ifndef TRIREME_COORDINATOR_COMPILER_PASSES_LIST_SCHEDULE_H_
#define TRIREME_COORDINATOR_COMPILER_PASSES_LIST_SCHEDULE_H_

#include "common/ir/graph.h"

namespace trireme {

// Keeps every dependency through values and their memory. All ranks get the same order.
void ListSchedule(Graph& graph);

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PASSES_LIST_SCHEDULE_H_
