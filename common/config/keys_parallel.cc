// Rows of the job table: tensor_parallel, context_parallel, zero, pipeline, compression, network,
// trace.
#include <optional>
#include <string_view>

#include "common/config/key_makers.h"

namespace trireme {
namespace {

JobKey ZeroStageKey() {
  JobKey key{"zero.stage", "one of 0, 1, 3",
             "ZeRO by its number: 0 keeps parameters and optimizer state whole, 1 splits optimizer "
             "state over data, 3 parameters too. Short form, see below."};
  key.default_text = "as the mappings say: 3";
  key.read_short_form = [](const ConfigNode& node, const std::string& at, ShortForms* forms) {
    int64_t stage = -1;
    const Status read = ReadInt(node, at, {0, 3}, &stage);
    if (stage == 2) {
      return ConfigError(node.where, at,
                         "there is no stage 2: gradients are reduced to the optimizer's shards "
                         "already at stage 1; use 1");
    }
    if (!read.ok()) return Expected(node, at, "one of 0, 1, 3");
    forms->zero_stage = stage;
    return absl::OkStatus();
  };
  return key;
}

JobKey ZeroSwitchKey(std::string path, std::string default_text,
                     std::optional<bool> ShortForms::*field, std::string meaning) {
  JobKey key{std::move(path), "true or false", std::move(meaning)};
  key.default_text = std::move(default_text);
  key.read_short_form = [=](const ConfigNode& node, const std::string& at, ShortForms* forms) {
    bool value = false;
    RETURN_IF_ERROR(ReadBool(node, at, &value));
    forms->*field = value;
    return absl::OkStatus();
  };
  return key;
}

JobKey LayersPerStageKey() {
  JobKey key{"pipeline.layers_per_stage", "a list of whole numbers >= 1",
             "Blocks of each stage; they add up to model.num_hidden_layers. Empty: as even as can "
             "be, the first stages take the rest."};
  key.read = [](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    if (!node.is_list())
      return Expected(node, at, "a list of whole numbers, for example [3, 3, 2]");
    std::vector<int64_t> layers(node.items.size());
    for (size_t i = 0; i < layers.size(); ++i) {
      const std::string item_path = JoinPath(at, std::to_string(i));
      RETURN_IF_ERROR(ReadInt(node.items[i], item_path, {1, 2048}, &layers[i]));
    }
    spec->pipeline.layers_per_stage = std::move(layers);
    return absl::OkStatus();
  };
  key.write = [](const JobSpec& spec) {
    return nlohmann::ordered_json(spec.pipeline.layers_per_stage);
  };
  return key;
}

std::vector<std::string> PipelineOrders() {
  std::vector<std::string> orders;
  for (const std::string_view order : kPipelineOrders) orders.emplace_back(order);
  return orders;
}

template <typename Field>
JobKey LinkSpeedKey(std::string path, Field field, const std::string& between) {
  return NumberKey(std::move(path), {0, 1e9}, field,
                   "Limit of what a worker sends to another, for workers of " + between +
                       ", in million bits per second; 0: none. Stands for a slow fabric between "
                       "workers on CPU ranks.");
}

template <typename Field>
JobKey LinkLatencyKey(std::string path, Field field, const std::string& between) {
  return NumberKey(
      std::move(path), {0, 60000}, field,
      "Added to every message between workers of " + between + ", in milliseconds; 0: nothing.");
}

}  // namespace

std::vector<JobKey> TensorParallelKeys() {
  return {
      EnumKey("tensor_parallel.mode", {"all_reduce", "reduce_scatter"},
              TRIREME_FIELD(tensor_parallel.mode),
              "How ranks of the model axis meet. all_reduce: activations between blocks are whole "
              "on each. reduce_scatter: split by positions (sequence parallelism): less "
              "memory. Short form, see below."),
      BoolKey("tensor_parallel.async", TRIREME_FIELD(tensor_parallel.async),
              "Transfers run beside the matrix products that need or make them, a block at a time "
              "around a ring."),
      BoolKey("tensor_parallel.recompute_allgather",
              TRIREME_FIELD(tensor_parallel.recompute_allgather),
              "Inputs of products are gathered again in the backward; false keeps them gathered "
              "(more memory, less traffic)."),
      IntKey("tensor_parallel.chunks", {1, 64}, TRIREME_FIELD(tensor_parallel.chunks),
             "Pieces of a block that travel on their own, when async."),
  };
}

std::vector<JobKey> ContextParallelKeys() {
  return {
      EnumKey("context_parallel.mode", {"ring", "all_gather"}, TRIREME_FIELD(context_parallel.mode),
              "How queries reach the keys of other ranks when positions are split over the context "
              "axis. ring: blocks of keys and values travel around. all_gather: every rank holds "
              "all of them. Short form, see below."),
      BoolKey("context_parallel.zigzag", TRIREME_FIELD(context_parallel.zigzag),
              "Rank r of n holds pieces r and 2n - 1 - r of 2n, so that causal attention costs "
              "every rank the same; false: one run of positions each."),
  };
}

std::vector<JobKey> ZeroKeys() {
  return {
      ZeroStageKey(),
      ZeroSwitchKey("zero.prefetch", "`mesh.prefetch`", &ShortForms::zero_prefetch,
                    "Gathers of parameters run one block ahead, beside the computation. Short "
                    "form, see below."),
      ZeroSwitchKey("zero.reshard_after_forward", "`mesh.gather`",
                    &ShortForms::zero_reshard_after_forward,
                    "Gathered parameters are let go after use; false keeps them for the step (more "
                    "memory, less traffic). Short form, see below."),
  };
}

std::vector<JobKey> PipelineKeys() {
  return {
      ChoiceKey(
          "pipeline.order", PipelineOrders(), TRIREME_FIELD(pipeline.order),
          "Order of microbatches over stages, when the mesh has the axis that layers map to."),
      IntKey("pipeline.chunks_per_stage", {0, 64}, TRIREME_FIELD(pipeline.chunks_per_stage),
             "Runs of blocks that a stage holds apart from each other, for orders that can use "
             "several (interleaved_1f1b, zero_bubble_v, dualpipe_v). 0: as few as the order "
             "needs."),
      LayersPerStageKey(),
  };
}

std::vector<JobKey> CompressionKeys() {
  return {
      EnumKey("compression.dcn", {"none", "bf16", "int8"}, TRIREME_FIELD(compression.dcn),
              "How gradients travel between slices. bf16 and int8 (with a scale a block) keep what "
              "rounding lost and add it to the next step's (error feedback)."),
  };
}

std::vector<JobKey> NetworkKeys() {
  return {
      LinkSpeedKey("network.ici.mbit_per_s", TRIREME_FIELD(network.ici.mbit_per_s), "one slice"),
      LinkLatencyKey("network.ici.latency_ms", TRIREME_FIELD(network.ici.latency_ms), "one slice"),
      LinkSpeedKey("network.dcn.mbit_per_s", TRIREME_FIELD(network.dcn.mbit_per_s), "two slices"),
      LinkLatencyKey("network.dcn.latency_ms", TRIREME_FIELD(network.dcn.latency_ms), "two slices"),
  };
}

std::vector<JobKey> TraceKeys() {
  return {
      TextKey("trace.path", TRIREME_FIELD(trace.path),
              "Folder for what every rank did and when, as Chrome trace events, one file a rank. "
              "Empty: none are written."),
      IntKey("trace.first_step", {0, 1000000000000}, TRIREME_FIELD(trace.first_step),
             "First step that is traced, counted from 0; the default leaves out the first step, "
             "which warms up."),
      IntKey("trace.steps", {1, 1000000}, TRIREME_FIELD(trace.steps), "Steps that are traced."),
  };
}

}  // namespace trireme
