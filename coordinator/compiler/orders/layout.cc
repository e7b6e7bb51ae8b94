// Both placements count chunks in rows of num_stages; a V runs through odd rows backwards.
#include "coordinator/compiler/orders/layout.h"

namespace trireme {

int32_t VirtualStage(Placement placement, int32_t stage, int32_t chunk, int32_t num_stages) {
  const bool backwards = placement == Placement::kV && chunk % 2 == 1;
  return chunk * num_stages + (backwards ? num_stages - 1 - stage : stage);
}

StageChunk HomeOf(Placement placement, int32_t virtual_stage, int32_t num_stages) {
  const int32_t chunk = virtual_stage / num_stages;
  const int32_t along = virtual_stage % num_stages;
  const bool backwards = placement == Placement::kV && chunk % 2 == 1;
  return {backwards ? num_stages - 1 - along : along, chunk};
}

}  // namespace trireme
