// The one table of job keys. A row says how a key is called, what it takes, what it means, and how
// it is read into a JobSpec and written back; parsing, canonical JSON and the reference page all
// walk these rows.
#ifndef TRIREME_COMMON_CONFIG_KEYS_H_
#define TRIREME_COMMON_CONFIG_KEYS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/config/config_node.h"
#include "common/config/job_spec.h"
#include "common/config/short_forms.h"
#include "nlohmann/json.hpp"

namespace trireme {

struct JobKey {
  std::string path;  // "train.steps"
  std::string type;  // what it takes, in the words of its errors
  std::string meaning;
  bool required = false;
  std::string default_text;        // empty: whatever a fresh JobSpec holds
  std::vector<std::string> types;  // values of model.type that have this key; empty: all
  std::string quantity;  // keys of different types with the same one are names of the same thing
  // Errors: kInvalidArgument "job.yaml:7: train.steps: expected ..., got ...".
  std::function<Status(const ConfigNode& node, const std::string& path, JobSpec* spec)> read;
  std::function<nlohmann::ordered_json(const JobSpec& spec)> write;
  // A key that only stands for others has this instead of the two above; it is never written back.
  std::function<Status(const ConfigNode& node, const std::string& path, ShortForms* forms)>
      read_short_form;
};

// Whether a job of this model.type may have the key.
bool BelongsTo(const JobKey& key, std::string_view type);
// "not a key of mixtral; it has num_local_experts", for a key that does not belong to `type`.
std::string NotAKeyOf(const JobKey& key, const std::string& type);

// All rows, in the order of the reference page.
const std::vector<JobKey>& JobKeys();

// Parts of the table, one a section or two.
std::vector<JobKey> NameKeys();
std::vector<JobKey> ModelKeys();
std::vector<JobKey> ExpertKeys();
std::vector<JobKey> MoeKeys();
std::vector<JobKey> DataKeys();
std::vector<JobKey> TrainKeys();
std::vector<JobKey> OptimizerKeys();
std::vector<JobKey> ScheduleKeys();
std::vector<JobKey> PrecisionKeys();
std::vector<JobKey> MeshKeys();
std::vector<JobKey> TensorParallelKeys();
std::vector<JobKey> ContextParallelKeys();
std::vector<JobKey> ZeroKeys();
std::vector<JobKey> PipelineKeys();
std::vector<JobKey> CompressionKeys();
std::vector<JobKey> NetworkKeys();
std::vector<JobKey> TraceKeys();
std::vector<JobKey> CheckpointKeys();

}  // namespace trireme

#endif  // TRIREME_COMMON_CONFIG_KEYS_H_
