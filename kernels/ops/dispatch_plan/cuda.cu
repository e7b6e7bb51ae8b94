// A counting sort, one block a part of the tokens: every warp has a stretch of the assignments,
// counts them by expert, and after the sums over warps and experts finds each one's place, in
// order. Ids are read twice and source is written once; a block takes 32 assignments a warp and
// step, so the time is that of the longest part. A second kernel, one block, makes the totals.
#include "kernels/device/cuda/cuda.h"
#include "kernels/ops/dispatch_plan/pools.h"

namespace trireme {
namespace {

constexpr int kThreads = 1024;
constexpr int kMostWarps = kThreads / kWarp;

struct Plan {
  int64_t expert_start;
  int64_t part_size;  // assignments
  int parts;
  int shards;
  int shard_experts;
  int capacity;
  int waves;
  bool thin;

  __device__ int experts() const { return shards * shard_experts; }
  // The local expert, -1 where it is elsewhere or there is none.
  __device__ int Local(int32_t id) const {
    const int64_t expert = id - expert_start;
    return id >= 0 && expert >= 0 && expert < experts() ? static_cast<int>(expert) : -1;
  }
  // How many of the first `i` of a list of `size` are kept.
  __device__ int64_t Kept(int64_t i, int64_t size) const {
    const int64_t most = static_cast<int64_t>(waves) * capacity;
    if (thin && size > capacity) return i * capacity / size;
    return i < most ? i : most;
  }
  // Flat slot of the `i`-th kept of a list.
  __device__ int64_t Slot(int shard, int part, int64_t i) const {
    const int64_t wave = i / capacity;
    return ((wave * shards + shard) * parts + part) * capacity + i % capacity;
  }
};

// total[0, n) becomes its exclusive sums, total[n] the sum. One warp.
__device__ __forceinline__ void SumBefore(int* total, int n) {
  const int lane = threadIdx.x % kWarp;
  int before = 0;
  for (int begin = 0; begin < n; begin += kWarp) {
    const int own = begin + lane < n ? total[begin + lane] : 0;
    int sum = own;
    for (int delta = 1; delta < kWarp; delta *= 2) {
      const int other = __shfl_up_sync(kAllLanes, sum, delta);
      if (lane >= delta) sum += other;
    }
    if (begin + lane < n) total[begin + lane] = before + sum - own;
    before += __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
  if (lane == 0) total[n] = before;
}

// Gives assignments [begin, end) of this warp their slots; next[expert] is the place, among those
// of its expert, of the warp's next.
__device__ __forceinline__ void PlaceAssignments(const Plan& plan, const int32_t* ids,
                                                 int64_t begin, int64_t end, const int* prefix,
                                                 int* next, int32_t* source) {
  const int lane = threadIdx.x % kWarp;
  const int part = static_cast<int>(blockIdx.x);
  for (int64_t first = begin; first < end; first += kWarp) {
    const int64_t i = first + lane;
    const int expert = i < end ? plan.Local(ids[i]) : -1;
    const unsigned same = __match_any_sync(kAllLanes, expert);
    const int rank = __popc(same & ((1u << lane) - 1));
    const int base = expert >= 0 ? next[expert] : 0;
    __syncwarp();  // all have read before one adds
    if (expert >= 0 && rank == 0) next[expert] = base + __popc(same);
    __syncwarp();
    if (expert < 0) continue;
    const int shard = expert / plan.shard_experts;
    const int start = prefix[shard * plan.shard_experts];
    const int64_t size = prefix[(shard + 1) * plan.shard_experts] - start;
    const int64_t place = prefix[expert] - start + base + rank;
    const int64_t kept = plan.Kept(place, size);
    if (plan.Kept(place + 1, size) > kept) {
      source[plan.Slot(shard, part, kept)] = static_cast<int32_t>(i);
    }
  }
}

// counts of this part, and -1 in its slots without an assignment.
__device__ __forceinline__ void WriteCounts(const Plan& plan, const int* prefix, int32_t* source,
                                            int32_t* counts) {
  const int part = static_cast<int>(blockIdx.x);
  for (int i = threadIdx.x; i < plan.waves * plan.experts(); i += blockDim.x) {
    const int wave = i / plan.experts();
    const int expert = i % plan.experts();
    const int shard = expert / plan.shard_experts;
    const int start = prefix[shard * plan.shard_experts];
    const int64_t size = prefix[(shard + 1) * plan.shard_experts] - start;
    const int64_t low = static_cast<int64_t>(wave) * plan.capacity;
    const int64_t high = low + plan.capacity;
    const auto within = [&](int64_t place) {
      const int64_t kept = plan.Kept(place, size);
      return kept < low ? low : kept < high ? kept : high;
    };
    counts[(static_cast<int64_t>(wave) * plan.parts + part) * plan.experts() + expert] =
        static_cast<int32_t>(within(prefix[expert + 1] - start) - within(prefix[expert] - start));
  }
  for (int shard = 0; shard < plan.shards; ++shard) {
    const int64_t size =
        prefix[(shard + 1) * plan.shard_experts] - prefix[shard * plan.shard_experts];
    const int64_t slots = static_cast<int64_t>(plan.waves) * plan.capacity;
    for (int64_t i = plan.Kept(size, size) + threadIdx.x; i < slots; i += blockDim.x) {
      source[plan.Slot(shard, part, i)] = -1;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    PlanParts(const int32_t* __restrict__ ids, int32_t* __restrict__ source,
              int32_t* __restrict__ counts, Plan plan) {
  TRIREME_DYNAMIC_SHARED(int, next);  // of each warp, by expert
  const int experts = plan.experts();
  const int warps = blockDim.x / kWarp;
  const int warp = threadIdx.x / kWarp;
  int* const prefix = next + warps * experts;  // experts + 1
  for (int i = threadIdx.x; i < warps * experts; i += blockDim.x) next[i] = 0;
  __syncthreads();
  const int64_t per_warp = (plan.part_size + warps - 1) / warps;
  const int64_t part_begin = blockIdx.x * plan.part_size;
  const int64_t part_end = part_begin + plan.part_size;
  const int64_t begin = part_begin + warp * per_warp;
  const int64_t end = begin + per_warp < part_end ? begin + per_warp : part_end;
  for (int64_t i = begin + threadIdx.x % kWarp; i < end; i += kWarp) {
    const int expert = plan.Local(ids[i]);
    if (expert >= 0) atomicAdd(&next[warp * experts + expert], 1);
  }
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += blockDim.x) {
    int before = 0;
    for (int w = 0; w < warps; ++w) {
      const int count = next[w * experts + e];
      next[w * experts + e] = before;
      before += count;
    }
    prefix[e] = before;
  }
  __syncthreads();
  if (warp == 0) SumBefore(prefix, experts);
  __syncthreads();
  PlaceAssignments(plan, ids, begin, end, prefix, next + warp * experts, source);
  WriteCounts(plan, prefix, source, counts);
}

// Totals from the counts. One block; a warp takes lists one after the other.
__global__ void __launch_bounds__(kThreads)
    AddTotals(const int32_t* __restrict__ ids, const int32_t* __restrict__ counts,
              int32_t* __restrict__ waves_needed, double* __restrict__ drops,
              double* __restrict__ extra_waves, Plan plan) {
  __shared__ int64_t shared[kMostWarps];
  __shared__ int most_of_warp[kMostWarps];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  int64_t assignments = 0;
  for (int64_t i = threadIdx.x; i < plan.parts * plan.part_size; i += kThreads) {
    assignments += plan.Local(ids[i]) >= 0;
  }
  int most = 0;
  int64_t kept_rows = 0, extra = 0;  // lane 0 has its warp's
  for (int list = warp; list < plan.shards * plan.parts; list += kMostWarps) {
    const int part = list / plan.shards;
    const int first = list % plan.shards * plan.shard_experts;
    int rows = 0;
    for (int i = lane; i < plan.waves * plan.shard_experts; i += kWarp) {
      const int64_t wave = i / plan.shard_experts;
      rows += counts[(wave * plan.parts + part) * plan.experts() + first + i % plan.shard_experts];
    }
    rows = WarpSum(rows);
    const int needed = (rows + plan.capacity - 1) / plan.capacity;
    most = needed > most ? needed : most;
    if (lane != 0) continue;
    kept_rows += rows;
    extra += needed > 1 ? needed - 1 : 0;
  }
  if (lane == 0) most_of_warp[warp] = most;
  assignments = BlockSum(assignments, shared);
  kept_rows = BlockSum(kept_rows, shared);
  extra = BlockSum(extra, shared);
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kMostWarps; ++w) most = most_of_warp[w] > most ? most_of_warp[w] : most;
  *waves_needed = most;
  *drops = static_cast<double>(assignments - kept_rows);
  *extra_waves = static_cast<double>(extra);
}

}  // namespace

void Cuda_dispatch_plan(const KernelArgs& args) {
  const Tensor& ids = args.in[0];
  const Tensor& source = args.out[0];
  const Tensor& counts = args.out[1];
  const PoolShape pool = MakePoolShape(source.size(1), source.size(2), counts);
  CHECK_EQ(ids.size(0) % pool.parts, 0)
      << "batch=" << ids.size(0) << " token_shards=" << pool.parts;
  const Plan plan = {.expert_start = args.attrs.GetInt("expert_start", 0),
                     .part_size = ids.count() / pool.parts,
                     .parts = static_cast<int>(pool.parts),
                     .shards = static_cast<int>(pool.shards),
                     .shard_experts = static_cast<int>(pool.experts),
                     .capacity = static_cast<int>(pool.capacity),
                     .waves = static_cast<int>(source.size(0)),
                     .thin = args.attrs.GetInt("thin") != 0};
  const int64_t experts = pool.shards * pool.experts;
  const int64_t numbers = 48 * 1024 / static_cast<int64_t>(sizeof(int));
  const int64_t most_warps = (numbers - 1) / experts - 1;
  CHECK(most_warps >= 1) << "dispatch_plan: " << experts
                         << " local experts do not fit a GPU's shared memory";
  const auto warps = static_cast<unsigned>(most_warps < kMostWarps ? most_warps : kMostWarps);
  TRIREME_LAUNCH(args, static_cast<unsigned>(pool.parts), warps * kWarp,
                 ((warps + 1) * experts + 1) * sizeof(int), PlanParts, ids.i32(), source.i32(),
                 counts.i32(), plan);
  TRIREME_LAUNCH(args, 1, kThreads, 0, AddTotals, ids.i32(), counts.i32(), args.out[2].i32(),
                 args.out[3].f64(), args.out[4].f64(), plan);
}

}  // namespace trireme
