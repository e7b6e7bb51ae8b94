// Where the virtual stages of a pipeline are: a model's chain is cut into num_stages * num_chunks
// virtual stages, and every stage runs num_chunks of them.
#ifndef TRIREME_COORDINATOR_COMPILER_ORDERS_LAYOUT_H_
#define TRIREME_COORDINATOR_COMPILER_ORDERS_LAYOUT_H_

#include <cstdint>

namespace trireme {

// kLoop: chunk c of stage s is virtual stage c * num_stages + s. kV: odd chunks run through the
// stages backwards, so that chunk 1 of stage s is virtual stage 2 * num_stages - 1 - s.
enum class Placement : uint8_t { kLoop, kV };

int32_t VirtualStage(Placement placement, int32_t stage, int32_t chunk, int32_t num_stages);

struct StageChunk {
  int32_t stage = 0;
  int32_t chunk = 0;
  bool operator==(const StageChunk&) const = default;
};

// The inverse of VirtualStage.
StageChunk HomeOf(Placement placement, int32_t virtual_stage, int32_t num_stages);

// What schedules of one pipeline have in common. Where the weight gradient is split off, every
// microbatch of a chunk runs F, B (input gradient) and W (weight gradient), else F and B (both).
struct ScheduleLayout {
  Placement placement = Placement::kLoop;
  int32_t num_stages = 1;
  int32_t num_chunks = 1;  // of each stage
  int32_t num_microbatches = 1;
  bool splits_weight_grad = false;

  int32_t num_virtual() const { return num_stages * num_chunks; }
  int32_t Virtual(int32_t stage, int32_t chunk) const {
    return VirtualStage(placement, stage, chunk, num_stages);
  }
  StageChunk Home(int32_t virtual_stage) const {
    return HomeOf(placement, virtual_stage, num_stages);
  }
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_ORDERS_LAYOUT_H_
