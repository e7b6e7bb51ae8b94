// Rows of the job table: name, model, data.
#include "common/config/key_makers.h"

namespace trireme {
namespace {

Status ReadDataSources(const ConfigNode& node, const std::string& path, JobSpec* spec) {
  constexpr std::string_view kWhat = "a list of sources, for example [{path: corpus.txt}]";
  if (!node.is_list() || node.items.empty()) return Expected(node, path, kWhat);
  std::vector<DataSource> sources;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const ConfigNode& item = node.items[i];
    const std::string at = JoinPath(path, std::to_string(i));
    if (!item.is_map()) return Expected(item, at, "a map such as {path: corpus.txt}");
    DataSource source;
    for (const auto& [key, value] : item.entries) {
      if (key != "path") {
        return ConfigError(value.where, JoinPath(at, key),
                           "unknown key " + ShowText(key) + "; known here: path");
      }
      RETURN_IF_ERROR(ReadText(value, JoinPath(at, key), &source.path));
    }
    if (source.path.empty()) {
      return ConfigError(item.where, JoinPath(at, "path"), "expected the path of a text file");
    }
    sources.push_back(std::move(source));
  }
  spec->data.train = std::move(sources);
  return absl::OkStatus();
}

nlohmann::ordered_json WriteDataSources(const JobSpec& spec) {
  auto list = nlohmann::ordered_json::array();
  for (const DataSource& source : spec.data.train) list.push_back({{"path", source.path}});
  return list;
}

}  // namespace

std::vector<JobKey> NameKeys() {
  return {Required(
      TextKey("name", TRIREME_FIELD(name), "What the job is called: 1 to 63 of a-z, 0-9 and -."))};
}

std::vector<JobKey> ModelKeys() {
  return {
      Required(ChoiceKey(
          "model.type", {"llama", "gpt2", "mixtral", "qwen3_moe", "deepseek_moe", "grug_moe"},
          TRIREME_FIELD(model.type),
          "Architecture. The last four have experts, under the names of their Hugging Face "
          "configurations; a key of another type is an error that names the right one.")),
      Required(IntKey("model.hidden_size", {1, 131072}, TRIREME_FIELD(model.hidden_size),
                      "Width of the residual stream.")),
      Of({"llama", "gpt2", "mixtral", "deepseek_moe"}, "width",
         WithDefault(
             "gpt2: 4 * hidden_size; deepseek_moe without dense blocks: "
             "moe_intermediate_size; else required",
             IntKey("model.intermediate_size", {1, 524288}, TRIREME_FIELD(model.intermediate_size),
                    "Width inside the MLP; mixtral: inside an expert; deepseek_moe: in "
                    "the dense blocks."))),
      Required(IntKey("model.num_hidden_layers", {1, 2048}, TRIREME_FIELD(model.num_hidden_layers),
                      "Blocks.")),
      Required(IntKey("model.num_attention_heads", {1, 4096},
                      TRIREME_FIELD(model.num_attention_heads), "Query heads of a block.")),
      WithDefault(
          "num_attention_heads",
          IntKey("model.num_key_value_heads", {1, 4096}, TRIREME_FIELD(model.num_key_value_heads),
                 "Key and value heads; divides num_attention_heads.")),
      WithDefault(
          "hidden_size / num_attention_heads",
          IntKey("model.head_dim", {1, 4096}, TRIREME_FIELD(model.head_dim),
                 "Width of one head; even, where a rotary embedding turns pairs (not gpt2); "
                 "grug_moe, which turns half of it: a multiple of 4.")),
      Required(IntKey("model.vocab_size", {1, 16777216}, TRIREME_FIELD(model.vocab_size),
                      "Tokens that exist; at least those of data.tokenizer (bytes: 256).")),
      Required(IntKey("model.max_position_embeddings", {1, 16777216},
                      TRIREME_FIELD(model.max_position_embeddings),
                      "Longest sequence; gpt2 has a learned embedding for each position.")),
      NumberKey("model.norm_eps", {0, 1, true, false}, TRIREME_FIELD(model.norm_eps),
                "Added to the mean square, or variance (gpt2), of a norm."),
      NumberKey("model.rope_theta", {1, 1e12}, TRIREME_FIELD(model.rope_theta),
                "Base of the rotary embedding's wavelengths (not gpt2)."),
      WithDefault("gpt2: true; else false",
                  BoolKey("model.tie_word_embeddings", TRIREME_FIELD(model.tie_word_embeddings),
                          "Use the token embedding as the LM head too.")),
      WithDefault(
          "grug_moe: 0.5 / sqrt(hidden_size); else 0.02",
          NumberKey("model.initializer_range", {0, 1, true, false},
                    TRIREME_FIELD(model.initializer_range),
                    "Standard deviation of the normal initialiser; see Initial weights below.")),
  };
}

std::vector<JobKey> DataKeys() {
  JobKey train{"data.train", "a list of {path: FILE}",
               "Text files to train on, one after the other. A relative path starts at the folder "
               "where the job is submitted."};
  train.read = ReadDataSources;
  train.write = WriteDataSources;
  return {
      Required(std::move(train)),
      ChoiceKey("data.tokenizer", {"bytes"}, TRIREME_FIELD(data.tokenizer),
                "How text becomes tokens. bytes: each byte is a token, 0 to 255."),
      Required(IntKey("data.sequence_length", {1, 16777216}, TRIREME_FIELD(data.sequence_length),
                      "Tokens of a training sequence; at most model.max_position_embeddings.")),
  };
}

}  // namespace trireme
