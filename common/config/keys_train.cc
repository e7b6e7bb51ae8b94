// Rows of the job table: train, optimizer, schedule, precision, checkpoint.
#include "common/config/key_makers.h"

namespace trireme {
namespace {

template <typename Field>
JobKey StepCountKey(std::string path, Field field, std::string meaning) {
  JobKey key{std::move(path), "\"20 steps\", a whole number > 1, a share 0 to 1, or \"10%\"",
             std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadStepCount(node, at, &field(*spec));
  };
  key.write = [=](const JobSpec& spec) {
    const StepCount& count = field(spec);
    if (count.is_fraction) return nlohmann::ordered_json(count.value);
    const auto steps = static_cast<int64_t>(count.value);
    return nlohmann::ordered_json(std::to_string(steps) + (steps == 1 ? " step" : " steps"));
  };
  return key;
}

// schedule.decay may be null: all that is left after warmup.
JobKey DecayKey() {
  JobKey key = StepCountKey(
      "schedule.decay", TRIREME_FIELD(schedule.decay),
      "Steps at the end of a cycle in which the learning rate falls; between warmup and decay it "
      "stays at its peak. null: all that is left after warmup.");
  key.type += ", or null";
  key.read = [read = key.read](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    if (!node.is_null()) return read(node, at, spec);
    spec->schedule.decay = ScheduleSpec().decay;
    return absl::OkStatus();
  };
  key.write = [write = key.write](const JobSpec& spec) {
    return spec.schedule.decay.value < 0 ? nlohmann::ordered_json(nullptr) : write(spec);
  };
  return key;
}

JobKey BetasKey() {
  JobKey key{"optimizer.betas", "a list of two numbers >= 0 and < 1",
             "Decay of Adam's first and second moment."};
  key.read = [](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    if (!node.is_list() || node.items.size() != 2) {
      return Expected(node, at, "a list of two numbers, for example [0.9, 0.95]");
    }
    const NumberRange range{0, 1, false, true};
    RETURN_IF_ERROR(ReadNumber(node.items[0], JoinPath(at, "0"), range, &spec->optimizer.beta1));
    return ReadNumber(node.items[1], JoinPath(at, "1"), range, &spec->optimizer.beta2);
  };
  key.write = [](const JobSpec& spec) {
    return nlohmann::ordered_json::array({spec.optimizer.beta1, spec.optimizer.beta2});
  };
  return key;
}

// Only float32 trains now; the others of ParseDType are refused by name rather than accepted and
// ignored.
template <typename Field>
JobKey FloatTypeKey(std::string path, Field field, std::string meaning) {
  JobKey key{std::move(path), "float32", std::move(meaning)};
  key.read = [=](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    if (!node.is_scalar() || node.text != Name(DType::kFloat32)) {
      return Expected(node, at, "float32, the only precision that is accepted now");
    }
    field(*spec) = DType::kFloat32;
    return absl::OkStatus();
  };
  key.write = [=](const JobSpec& spec) {
    return nlohmann::ordered_json(std::string(Name(field(spec))));
  };
  return key;
}

JobKey CheckpointEveryKey() {
  JobKey key{"checkpoint.every", "a whole number of steps (10, or \"10 steps\")",
             "Steps between checkpoints. 0: only after the last step."};
  key.read = [](const ConfigNode& node, const std::string& at, JobSpec* spec) {
    return ReadSteps(node, at, &spec->checkpoint.every);
  };
  key.write = [](const JobSpec& spec) { return nlohmann::ordered_json(spec.checkpoint.every); };
  return key;
}

}  // namespace

std::vector<JobKey> TrainKeys() {
  return {
      Required(IntKey("train.steps", {1, 1000000000000}, TRIREME_FIELD(train.steps),
                      "Optimizer steps of the whole job.")),
      Required(IntKey("train.global_batch_size", {1, 16777216},
                      TRIREME_FIELD(train.global_batch_size), "Sequences of a step.")),
      IntKey(
          "train.microbatch_size", {0, 16777216}, TRIREME_FIELD(train.microbatch_size),
          "Sequences that a data-parallel replica works on at once; clamped to global_batch_size "
          "/ replicas. Changes memory and speed, never the model. 0: all at once."),
      IntKey("train.seed", {0}, TRIREME_FIELD(train.seed),
             "Decides initial weights and data order."),
      EnumKey("train.remat", {"none", "block"}, TRIREME_FIELD(train.remat),
              "block: keep only what enters each block and compute the rest again in the backward: "
              "less memory, about a third more work."),
  };
}

std::vector<JobKey> OptimizerKeys() {
  return {
      ChoiceKey("optimizer.type", {"adamw"}, TRIREME_FIELD(optimizer.type),
                "AdamW (Loshchilov and Hutter 2019): decay is decoupled and scaled by the learning "
                "rate."),
      NumberKey("optimizer.learning_rate", {0, 1000}, TRIREME_FIELD(optimizer.learning_rate),
                "Peak of the schedule."),
      BetasKey(),
      NumberKey("optimizer.epsilon", {0, 1, true, false}, TRIREME_FIELD(optimizer.epsilon),
                "Adam's epsilon, added to the root of the corrected second moment."),
      NumberKey("optimizer.weight_decay", {0, 1000}, TRIREME_FIELD(optimizer.weight_decay),
                "On the tensors of the weight-decay mask below."),
      NumberKey("optimizer.max_grad_norm", {0}, TRIREME_FIELD(optimizer.max_grad_norm),
                "The gradient of all parameters together is scaled down to this norm. 0: never."),
  };
}

std::vector<JobKey> ScheduleKeys() {
  return {
      ChoiceKey("schedule.type", {"constant", "cosine", "linear", "inv_sqrt", "inv"},
                TRIREME_FIELD(schedule.type), "Shape of the decay."),
      StepCountKey("schedule.warmup", TRIREME_FIELD(schedule.warmup),
                   "Steps in which the learning rate climbs from 0 to its peak, in the first "
                   "cycle. A share is of the cycle; 1 is all of it, \"1 step\" is one."),
      DecayKey(),
      StepCountKey("schedule.rewarmup", TRIREME_FIELD(schedule.rewarmup),
                   "Warmup of every later cycle, from where the one before ended."),
      NumberKey("schedule.min_ratio", {0, 1}, TRIREME_FIELD(schedule.min_ratio),
                "Where the decay ends, as a share of the peak."),
      IntKey("schedule.cycles", {1, 1000000}, TRIREME_FIELD(schedule.cycles),
             "Equal parts of the job, each with its own warmup and decay."),
  };
}

std::vector<JobKey> PrecisionKeys() {
  return {
      FloatTypeKey("precision.params", TRIREME_FIELD(precision.params),
                   "Element type of the parameters. Only float32 is accepted now."),
      FloatTypeKey("precision.compute", TRIREME_FIELD(precision.compute),
                   "Element type of products and activations. Only float32 is accepted now."),
  };
}

std::vector<JobKey> CheckpointKeys() {
  return {
      TextKey("checkpoint.path", TRIREME_FIELD(checkpoint.path),
              "Folder of the checkpoints. Empty: none are written."),
      CheckpointEveryKey(),
      TextKey("checkpoint.load", TRIREME_FIELD(checkpoint.load),
              "A checkpoint folder to start from. Empty: the newest complete one under path, if "
              "any."),
  };
}

}  // namespace trireme
