// Writes the reference page of the job file from the table of keys.
#include "common/config/keys.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

constexpr std::string_view kHead = R"(# Job file

A job is data: one YAML or JSON file, and `--set path.to.key=value` for what differs this time (it wins over the file).
Unknown and repeated keys, wrong types and sizes that cannot work are errors that name the file, the line, the key and
what would be right. Anchors, aliases, tags and second documents are refused, as are files over 1 MiB or nested deeper
than 32 levels.

This page is generated from the table that parses the file (`common/config/keys_*.cc`); after a change there, run the
tests of `common/config` once with `TRIREME_UPDATE_GOLDEN=1`.

)";

constexpr std::string_view kTail = R"(## Parallelism short forms

What decides where tensors lie is the mesh section alone; these keys write into it. `plan` and stored jobs show what they
wrote, and an entry that the job gives itself is left as it is; where the two contradict each other, the error names both.

| short form | writes |
|---|---|
| `zero: {stage: 0}` | `mesh.param_mapping.embed: null`, `mesh.optimizer_mapping.embed: null` |
| `zero: {stage: 1}` | `mesh.param_mapping.embed: null`, `mesh.optimizer_mapping.embed: data` |
| `zero: {stage: 3}` | `mesh.param_mapping.embed: data`; optimizer state follows |
| `zero: {reshard_after_forward: false}` | `mesh.gather: step` (true: `use`); parameters must be split |
| `zero: {prefetch: true}` | `mesh.prefetch: true`; parameters must be split |
| `tensor_parallel: {mode: reduce_scatter}` | `mesh.compute_mapping.residual/position: model`, or `[context, model]` when the mesh has a context axis |
| `context_parallel: {mode: ring}` | `mesh.compute_mapping.attention/key_position: context` when the mesh has a context axis |
| `context_parallel: {mode: all_gather}` | nothing: keys and values are whole unless mapped |

There is no ZeRO stage 2: gradients are reduced to the optimizer's shards already at stage 1. Where a job maps `mlp` or
`position` to axes of its own, those stand for `model` and `context` here. A job that maps `attention/key_position: null`
and names no mode has mode all_gather.

## Experts

A type with experts sends each token to `num_experts_per_tok` of them; the names of its keys are those of its Hugging
Face configuration. `norm_eps` and `rope_theta` have the same defaults for all types: a job gives those of its model
(Qwen3: 1e-6 and 1e6).

| type | router | kept balanced by |
|---|---|---|
| mixtral | softmax; weights of the chosen add up to 1 | load-balancing loss, router z loss |
| qwen3_moe | softmax; weights of the chosen add up to 1 where `norm_topk_prob` | load-balancing loss |
| deepseek_moe | sigmoid; weights of the chosen add up to `routed_scaling_factor` | a selection bias that follows the sign of each expert's load, `router_bias_update_rate` a step |
| grug_moe | sigmoid; weights of the chosen add up to 2.5 | a selection bias that is set from quantiles of the router's logits after every step |

Balance losses are weighted like the loss itself: their value is the coefficient when experts are loaded evenly. Loads are
counted over balance groups, `moe.balance_group_sequences` sequences that follow each other, so the mesh changes none.

## Initial weights

A function of the seed and the tensor's name alone, so the mesh never changes them.

| tensors | start |
|---|---|
| matrices and embeddings (token, position, attention, MLP, experts, router, LM head) | normal, mean 0, standard deviation `model.initializer_range`; grug_moe: cut off at 3 standard deviations |
| gpt2: the two projections of a block that write to the residual stream | as above, divided by sqrt(2 * num_hidden_layers) |
| weights of norms | 1 |
| biases, a router's too; grug_moe: gates of attention heads | 0 |

## Weight-decay mask

`optimizer.weight_decay` pulls on the matrices that multiply activations and on nothing else:

| tensors | decay |
|---|---|
| attention and MLP projection matrices (experts included), routers, gates of heads and of norms, LM head | yes |
| norms, biases, token and position embeddings (also when tied to the LM head) | no |

## Optimizer

AdamW with bias correction: `w -= learning_rate * (m' / (sqrt(v') + epsilon) + weight_decay * w)`, epsilon 1e-8 unless
set. Gradients are clipped by their norm over all parameters before that. Master weights and moments are float32.

## Example

```yaml
name: tiny
model: {type: llama, hidden_size: 128, intermediate_size: 344, num_hidden_layers: 4, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 256, max_position_embeddings: 256}
data: {train: [{path: corpus.txt}], tokenizer: bytes, sequence_length: 128}
train: {steps: 20, global_batch_size: 16, microbatch_size: 4, seed: 0}
optimizer: {type: adamw, learning_rate: 1e-3, betas: [0.9, 0.95], weight_decay: 0.1, max_grad_norm: 1.0}
schedule: {type: cosine, warmup: 2 steps, min_ratio: 0.1}
precision: {params: float32, compute: float32}
mesh: {axes: {data: 2, model: 2}}
pipeline: {order: 1f1b}
checkpoint: {path: ckpt, every: 10 steps}
```
)";

std::string DefaultOf(const JobKey& key) {
  if (key.required) return "required";
  if (!key.default_text.empty()) return key.default_text;
  const nlohmann::ordered_json value = key.write(JobSpec());
  if (value.is_string() && value.get<std::string>().empty()) return "empty";
  return "`" + (value.is_string() ? value.get<std::string>() : value.dump()) + "`";
}

// "*mixtral, qwen3_moe:* ", nothing for a key of all types.
std::string TypesOf(const JobKey& key) {
  std::string text;
  for (const std::string& type : key.types) text += (text.empty() ? "*" : ", ") + type;
  return text.empty() ? "" : text + ":* ";
}

std::string SectionOf(const JobKey& key) { return key.path.substr(0, key.path.find('.')); }

}  // namespace

std::string JobReferencePage() {
  std::string page(kHead);
  std::string section;
  for (const JobKey& key : JobKeys()) {
    if (SectionOf(key) != section) {
      section = SectionOf(key);
      page += (page.back() == '|' || page.size() == kHead.size() ? "## " : "\n## ") + section +
              "\n\n| key | takes | default | meaning |\n|---|---|---|---|\n";
    }
    page += "| `" + key.path + "` | " + key.type + " | " + DefaultOf(key) + " | " + TypesOf(key) +
            key.meaning + " |\n";
  }
  return page + "\n" + std::string(kTail);
}

}  // namespace trireme
