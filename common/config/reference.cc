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

constexpr std::string_view kTail = R"(## Initial weights

A function of the seed and the tensor's name alone, so the mesh never changes them.

| tensors | start |
|---|---|
| matrices and embeddings (token, position, attention, MLP, experts, router, LM head) | normal, mean 0, standard deviation `model.initializer_range` |
| gpt2: the two projections of a block that write to the residual stream | as above, divided by sqrt(2 * num_hidden_layers) |
| weights of norms | 1 |
| biases | 0 |

## Weight-decay mask

`optimizer.weight_decay` pulls on the matrices that multiply activations and on nothing else:

| tensors | decay |
|---|---|
| attention and MLP projection matrices (experts included), LM head | yes |
| norms, biases, token and position embeddings (also when tied to the LM head), routers | no |

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
    page += "| `" + key.path + "` | " + key.type + " | " + DefaultOf(key) + " | " + key.meaning +
            " |\n";
  }
  return page + "\n" + std::string(kTail);
}

}  // namespace trireme
