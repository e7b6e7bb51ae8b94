// One function a section; each returns the first thing that cannot be.
#include "common/config/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "common/base/math.h"
#include "common/config/experts.h"
#include "common/config/lr_schedule.h"
#include "common/config/values.h"

namespace trireme {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

// Up to eight divisors of `n` that are near `wanted`, for "try 1, 2, 4".
std::string DivisorsNear(int64_t n, int64_t wanted) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d != n / d) divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end(), [wanted](int64_t a, int64_t b) {
    return std::make_pair(std::abs(a - wanted), a) < std::make_pair(std::abs(b - wanted), b);
  });
  if (divisors.size() > 8) divisors.resize(8);
  std::sort(divisors.begin(), divisors.end());
  std::string text;
  for (const int64_t d : divisors) text += (text.empty() ? "" : ", ") + Text(d);
  return text;
}

Status CheckName(const JobSpec& spec, const LocateKey& locate) {
  const bool good = !spec.name.empty() && spec.name.size() <= 63 &&
                    std::all_of(spec.name.begin(), spec.name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                    });
  if (good) return absl::OkStatus();
  return ConfigError(locate("name"), "name",
                     "expected 1 to 63 of a-z, 0-9 and -, got " + ShowText(spec.name));
}

// Parameters of the model, roughly: only to refuse what no integer here could count.
double RoughParameters(const ModelSpec& model) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const ExpertsSpec& experts = model.experts;
  const double hidden = number(model.hidden_size);
  const double heads = number(model.num_attention_heads + model.num_key_value_heads);
  const double attention = 2 * hidden * heads * number(model.head_dim);
  const double dense = 3 * hidden * number(model.intermediate_size);
  const double sparse = hidden * (3 * number(experts.num_experts) * number(experts.width) +
                                  3 * number(experts.shared_width) + number(experts.num_experts));
  const int64_t num_dense = experts.num_experts == 0
                                ? model.num_hidden_layers
                                : std::min(experts.first_k_dense, model.num_hidden_layers);
  return attention * number(model.num_hidden_layers) + dense * number(num_dense) +
         sparse * number(model.num_hidden_layers - num_dense) +
         2 * hidden * number(model.vocab_size + model.max_position_embeddings);
}

Status CheckModel(const JobSpec& spec, const LocateKey& locate) {
  const ModelSpec& model = spec.model;
  if (model.num_attention_heads % model.num_key_value_heads != 0) {
    return ConfigError(locate("model.num_key_value_heads"), "model.num_key_value_heads",
                       Text(model.num_key_value_heads) + " does not divide num_attention_heads " +
                           Text(model.num_attention_heads) + "; try " +
                           DivisorsNear(model.num_attention_heads, model.num_key_value_heads));
  }
  if (model.type == "gpt2" && model.num_key_value_heads != model.num_attention_heads) {
    return ConfigError(locate("model.num_key_value_heads"), "model.num_key_value_heads",
                       Text(model.num_key_value_heads) + " differs from num_attention_heads " +
                           Text(model.num_attention_heads) +
                           ", and gpt2 has no grouped heads; leave it out or use type: llama");
  }
  const int64_t multiple = model.type == "gpt2" ? 1 : model.type == "grug_moe" ? 4 : 2;
  if (model.head_dim % multiple != 0) {
    return ConfigError(locate("model.head_dim"), "model.head_dim",
                       Text(model.head_dim) + " is not a multiple of " + Text(multiple) +
                           ", and the rotary embedding of " + model.type +
                           (multiple == 4 ? " turns pairs of half of it" : " turns pairs") +
                           "; set it to " + Text(RoundUp(model.head_dim, multiple)) +
                           ", or change hidden_size or heads");
  }
  const double parameters = RoughParameters(model);
  if (parameters > 1e15) {
    char shown[32];
    std::snprintf(shown, sizeof(shown), "%.2g", parameters);
    return ConfigError(locate("model"), "model",
                       std::string("about ") + shown +
                           " parameters; at most 1e15 can be planned, make hidden_size, "
                           "intermediate_size, layers or experts smaller");
  }
  return absl::OkStatus();
}

Status CheckData(const JobSpec& spec, const LocateKey& locate) {
  if (spec.data.sequence_length > spec.model.max_position_embeddings) {
    return ConfigError(locate("data.sequence_length"), "data.sequence_length",
                       Text(spec.data.sequence_length) +
                           " is more than model.max_position_embeddings " +
                           Text(spec.model.max_position_embeddings) +
                           "; shorten it or raise that to " + Text(spec.data.sequence_length));
  }
  if (spec.data.tokenizer == "bytes" && spec.model.vocab_size < 256) {
    return ConfigError(locate("model.vocab_size"), "model.vocab_size",
                       Text(spec.model.vocab_size) +
                           " is less than the 256 tokens of data.tokenizer bytes; set it to 256 or "
                           "more");
  }
  return absl::OkStatus();
}

Status CheckSchedule(const JobSpec& spec, const LocateKey& locate) {
  const Status status =
      LearningRateSchedule::Create(spec.optimizer, spec.schedule, spec.train.steps).status();
  return Annotate(status, locate("schedule") + ": schedule");
}

// Names in the mappings are checked against the axes that the job declares, whatever their sizes
// will be.
Status CheckMappings(const JobSpec& spec, const LocateKey& locate) {
  std::vector<MeshAxis> axes;
  for (const auto& [name, size] : spec.mesh.axes) axes.push_back({name, 1, Fabric::kIci});
  for (const auto& [name, size] : spec.mesh.dcn_axes) axes.push_back({name, 1, Fabric::kDcn});
  const StatusOr<Mesh> mesh = Mesh::Create(axes);
  if (!mesh.ok()) return ConfigError(locate("mesh"), "mesh", ToStd(mesh.status().message()));
  const StatusOr<Mapping> mapping = Mapping::Create(*mesh, spec.mesh.mapping);
  if (mapping.ok()) return absl::OkStatus();
  return ConfigError(locate("mesh"), "mesh", ToStd(mapping.status().message()));
}

Status CheckMesh(const JobSpec& spec, const LocateKey& locate) {
  if (spec.mesh.prefetch && spec.mesh.gather == GatherPolicy::kStep) {
    return ConfigError(locate("mesh.prefetch"), "mesh.prefetch",
                       "true moves gathers at every use one block ahead, but mesh.gather is step; "
                       "use gather: use, or prefetch: false");
  }
  for (const auto& [name, size] : spec.mesh.dcn_axes) {
    for (const auto& [other, other_size] : spec.mesh.axes) {
      if (name != other) continue;
      return ConfigError(locate("mesh.dcn_axes"), "mesh.dcn_axes." + name,
                         "axis " + name + " is in mesh.axes too (size " + Text(other_size) +
                             "); give the part between slices another name, such as " + name +
                             "_dcn");
    }
  }
  return absl::OkStatus();
}

Status CheckPipeline(const JobSpec& spec, const LocateKey& locate) {
  const std::vector<int64_t>& layers = spec.pipeline.layers_per_stage;
  if (layers.empty()) return absl::OkStatus();
  const int64_t sum = std::accumulate(layers.begin(), layers.end(), int64_t{0});
  if (sum == spec.model.num_hidden_layers) return absl::OkStatus();
  return ConfigError(locate("pipeline.layers_per_stage"), "pipeline.layers_per_stage",
                     "adds up to " + Text(sum) + ", but model.num_hidden_layers is " +
                         Text(spec.model.num_hidden_layers) + "; change one of them by " +
                         Text(std::abs(sum - spec.model.num_hidden_layers)));
}

// Steps count from 0.
Status CheckTrace(const JobSpec& spec, const LocateKey& locate) {
  if (spec.trace.path.empty() || spec.trace.first_step < spec.train.steps) return absl::OkStatus();
  return ConfigError(locate("trace.first_step"), "trace.first_step",
                     Text(spec.trace.first_step) + " is past the last step, for train.steps " +
                         Text(spec.train.steps) + " counts from 0; set it to at most " +
                         Text(spec.train.steps - 1));
}

Status CheckCheckpoint(const JobSpec& spec, const LocateKey& locate) {
  if (spec.checkpoint.every == 0 || !spec.checkpoint.path.empty()) return absl::OkStatus();
  return ConfigError(locate("checkpoint.every"), "checkpoint.every",
                     Text(spec.checkpoint.every) +
                         " steps, but there is no checkpoint.path to write to; set it, for example "
                         "to ckpt");
}

Status FillIntermediateSize(const LocateKey& locate, ModelSpec* model) {
  const bool has_none = model->type == "qwen3_moe" || model->type == "grug_moe";
  if (model->intermediate_size != 0 || has_none) return absl::OkStatus();
  if (model->type == "gpt2") {
    model->intermediate_size = 4 * model->hidden_size;
    return absl::OkStatus();
  }
  if (model->type == "deepseek_moe" && model->experts.first_k_dense == 0) {
    model->intermediate_size = model->experts.width;
    return absl::OkStatus();
  }
  const std::string why = model->type == "deepseek_moe"
                              ? " with first_k_dense_replace " + Text(model->experts.first_k_dense)
                              : "";
  return ConfigError(locate("model.intermediate_size"), "model.intermediate_size",
                     "required for " + model->type + why + "; for example " +
                         Text(std::max<int64_t>(1, (model->hidden_size * 8 / 3 + 7) / 8 * 8)) +
                         ", which is 8/3 of hidden_size");
}

}  // namespace

Status FillDerivedKeys(const LocateKey& locate, const IsGivenKey& given, JobSpec* spec) {
  ModelSpec& model = spec->model;
  RETURN_IF_ERROR(FillIntermediateSize(locate, &model));
  FillExperts(given, &model);
  if (model.num_key_value_heads == 0) model.num_key_value_heads = model.num_attention_heads;
  if (model.head_dim == 0) {
    if (model.hidden_size % model.num_attention_heads != 0) {
      return ConfigError(locate("model.num_attention_heads"), "model.num_attention_heads",
                         Text(model.num_attention_heads) + " heads do not divide hidden_size " +
                             Text(model.hidden_size) + "; try " +
                             DivisorsNear(model.hidden_size, model.num_attention_heads) +
                             ", or set head_dim");
    }
    model.head_dim = model.hidden_size / model.num_attention_heads;
  }
  if (!given("model.tie_word_embeddings")) model.tie_word_embeddings = model.type == "gpt2";
  return absl::OkStatus();
}

Status CheckJob(const JobSpec& spec, const LocateKey& locate) {
  for (const auto check : {CheckName, CheckModel, CheckExperts, CheckData, CheckSchedule, CheckMesh,
                           CheckMappings, CheckPipeline, CheckTrace, CheckCheckpoint}) {
    RETURN_IF_ERROR(check(spec, locate));
  }
  return absl::OkStatus();
}

}  // namespace trireme
