// Every parallel dimension and its pairs, on up to 16 ranks. Sizes are known-hard: 2 kv heads, 257
// tokens of vocabulary, sequences of 7, layers that stages do not divide.
#include "tests/numerics/layout_cases.h"

namespace trireme {
namespace {

const char kNoFsdp[] = "mesh.param_mapping.embed=null";
const char kRs[] = "tensor_parallel.mode=reduce_scatter";
const char kAsync[] = "tensor_parallel.async=true";
const char kPrefetch[] = "zero={stage: 3, prefetch: true}";
const char kZero1[] = "zero.stage=1";
const char kRemat[] = "train.remat=block";
const char kStep[] = "mesh.gather=step; mesh.reduce=step";

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string Axes(const std::string& axes) { return "mesh.axes={" + axes + "}"; }
std::string Order(const std::string& order) { return "pipeline.order=" + order; }
std::string AsyncRs() { return Join({kRs, kAsync}); }

std::vector<LayoutCase> TensorCases() {
  const std::string chunks = "tensor_parallel.chunks=2";
  const std::string kept = "tensor_parallel.recompute_allgather=false";
  return {
      {"tp2_async", Join({Axes("model: 2"), kAsync}), "llama", 2},
      {"tp4_async_gpt2", Join({Axes("model: 4"), kAsync}), "gpt2", 4},
      {"rs2_async", Join({Axes("model: 2"), AsyncRs()}), "llama", 2},
      {"rs4_async", Join({Axes("model: 4"), AsyncRs()}), "llama", 4},
      {"rs2_async_chunks", Join({Axes("model: 2"), AsyncRs(), chunks}), "llama", 2},
      {"rs4_async_chunks_gpt2", Join({Axes("model: 4"), AsyncRs(), chunks}), "gpt2", 4},
      {"rs2_kept", Join({Axes("model: 2"), kRs, kept}), "llama", 2},
      {"rs4_async_kept", Join({Axes("model: 4"), AsyncRs(), kept}), "llama", 4},
      {"rs2_async_remat", Join({Axes("model: 2"), AsyncRs(), kRemat}), "llama", 2},
      {"fsdp2_rs2_async_prefetch", Join({Axes("data: 2, model: 2"), AsyncRs(), kPrefetch}), "llama",
       4},
      {"pp2_rs2_async", Join({Axes("stage: 2, model: 2"), AsyncRs()}), "gpt2", 4},
      {"zero1_pp2_rs2_async", Join({Axes("data: 2, stage: 2, model: 2"), AsyncRs(), kZero1}),
       "llama", 8},
  };
}

std::vector<LayoutCase> DataCases() {
  const std::string flat = "mesh.dcn_reduce=flat";
  const std::string ddp = "zero.stage=0";
  return {
      {"fsdp2_prefetch", Join({Axes("data: 2"), kPrefetch}), "llama", 2},
      {"fsdp4_prefetch_remat", Join({Axes("data: 4"), kPrefetch, kRemat}), "gpt2", 4},
      {"hsdp_prefetch", Join({Axes("replica: 2, data: 2"), kPrefetch}), "llama", 4},
      {"zero3_kept", Join({Axes("data: 4"), "zero={stage: 3, reshard_after_forward: false}"}),
       "llama", 4},
      {"dcn2_ddp2", Join({Axes("replica: 2, data: 1"), ddp}), "llama", 4, 2},
      {"dcn2_ddp2_flat", Join({Axes("replica: 2, data: 1"), ddp, flat}), "llama", 4, 2},
      {"dcn2_fsdp2_flat", Join({Axes("data: 2"), flat}), "gpt2", 4, 2},
      {"dcn4_fsdp2_step", Join({Axes("data: 2"), kStep}), "llama", 8, 4},
      {"dcn2_fsdp2_rs2_async_prefetch", Join({Axes("data: 2, model: 2"), AsyncRs(), kPrefetch}),
       "llama", 8, 2},
      {"dcn2_pp2_fsdp2", Axes("stage: 2, data: 2"), "llama", 8, 2},
      {"dcn2_pp2_fsdp2_tp2", Axes("stage: 2, data: 2, model: 2"), "gpt2", 16, 2},
  };
}

std::vector<LayoutCase> ContextCases() {
  const std::string gathered = "context_parallel.mode=all_gather";
  const std::string straight = "context_parallel.zigzag=false";
  const std::string one = "data: 1, ";
  return {
      {"cp2", Axes(one + "context: 2"), "llama", 2},
      {"cp4", Axes(one + "context: 4"), "llama", 4},
      {"cp2_gpt2", Axes(one + "context: 2"), "gpt2", 2},
      {"cp2_straight", Join({Axes(one + "context: 2"), straight}), "llama", 2},
      {"cp4_gathered", Join({Axes(one + "context: 4"), gathered}), "llama", 4},
      {"cp2_gathered_straight", Join({Axes(one + "context: 2"), gathered, straight}), "gpt2", 2},
      {"cp2_tp2", Axes(one + "context: 2, model: 2"), "llama", 4},
      {"cp2_tp4_kv_whole", Axes(one + "context: 2, model: 4"), "llama", 8},
      {"cp2_rs2_async", Join({Axes(one + "context: 2, model: 2"), AsyncRs()}), "llama", 4},
      {"cp2_tp4_gathered_alike",
       Join({Axes(one + "context: 2, model: 4"), AsyncRs(), gathered, kStep,
             "tensor_parallel.recompute_allgather=false"}),
       "llama", 8},
      {"cp2_fsdp2_prefetch", Join({Axes("data: 2, context: 2"), kPrefetch}), "llama", 4},
      {"cp2_remat", Join({Axes(one + "context: 2"), kRemat}), "llama", 2},
      {"cp2_pp2", Axes(one + "stage: 2, context: 2"), "llama", 4},
      {"cp2_fsdp2_pp2_tp2", Axes("data: 2, stage: 2, context: 2, model: 2"), "llama", 16},
      {"dcn2_cp2_fsdp2", Axes("data: 2, context: 2"), "llama", 8, 2},
  };
}

std::vector<LayoutCase> PipelineCases() {
  const std::string micro = "train.microbatch_size=1";
  const std::string two = "data: 1, stage: 2";
  return {
      {"pp2_interleaved", Join({Axes(two), Order("interleaved_1f1b")}), "deep", 2},
      {"pp4_interleaved", Join({Axes("data: 1, stage: 4"), Order("interleaved_1f1b"), micro}),
       "deep", 4},
      {"pp2_interleaved3",
       Join({Axes(two), Order("interleaved_1f1b"), "pipeline.chunks_per_stage=3"}), "deep", 2},
      {"pp2_zb_h1", Join({Axes(two), Order("zero_bubble_h1")}), "llama", 2},
      {"pp4_zb_h1", Join({Axes("data: 1, stage: 4"), Order("zero_bubble_h1"), micro}), "deep", 4},
      {"pp2_zb_h1_tied_gpt2", Join({Axes(two), Order("zero_bubble_h1")}), "gpt2", 2},
      {"pp2_zb_v", Join({Axes(two), Order("zero_bubble_v"), micro}), "deep", 2},
      {"pp4_zb_v", Join({Axes("data: 1, stage: 4"), Order("zero_bubble_v"), micro}), "deep", 4},
      {"pp2_zb_v_remat", Join({Axes(two), Order("zero_bubble_v"), micro, kRemat}), "deep", 2},
      {"pp2_dualpipe_v", Join({Axes(two), Order("dualpipe_v"), micro}), "deep", 2},
      {"pp4_dualpipe_v", Join({Axes("data: 1, stage: 4"), Order("dualpipe_v"), micro}), "deep", 4},
      {"pp2_interleaved_fsdp2", Join({Axes("data: 2, stage: 2"), Order("interleaved_1f1b"), micro}),
       "deep", 4},
      {"pp2_zb_h1_fsdp2_prefetch",
       Join({Axes("data: 2, stage: 2"), Order("zero_bubble_h1"), kPrefetch}), "llama", 4},
      {"pp2_zb_v_tp2", Join({Axes(two + ", model: 2"), Order("zero_bubble_v"), micro}), "deep", 4},
      {"pp2_zb_h1_rs2_async", Join({Axes(two + ", model: 2"), Order("zero_bubble_h1"), AsyncRs()}),
       "llama", 4},
      {"pp2_dualpipe_v_zero1_2",
       Join({Axes("data: 2, stage: 2"), Order("dualpipe_v"), micro, kZero1}), "deep", 4},
      {"pp2_interleaved_cp2", Join({Axes(two + ", context: 2"), Order("interleaved_1f1b")}), "deep",
       4},
      {"pp2_zb_h1_step", Join({Axes("data: 2, stage: 2"), Order("zero_bubble_h1"), kStep}), "llama",
       4},
      {"ddp2_pp2_tp2", Join({Axes("replica: 2, data: 1, stage: 2, model: 2"), kNoFsdp}), "llama",
       8},
  };
}

}  // namespace

std::vector<LayoutCase> ParallelCases() {
  std::vector<LayoutCase> cases;
  for (auto& list : {TensorCases(), DataCases(), ContextCases(), PipelineCases()}) {
    cases.insert(cases.end(), list.begin(), list.end());
  }
  return cases;
}

}  // namespace trireme
