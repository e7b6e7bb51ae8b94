// trireme metrics: the numbers of every step.
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace trireme {
namespace {

int RunMetrics(const Args& args, Context& context) {
  const auto from_step = args.GetInt("from-step", 0, 0, int64_t{1} << 62);
  if (!from_step.ok()) return Fail(from_step.status(), context);
  Client client(CoordinatorAddress(args, context));
  Interrupt interrupt([&](int) { client.CancelStreams(); });
  const auto job = client.GetJob(args.positional()[0]);
  if (!job.ok()) return Fail(job.status(), context);
  v1::StreamMetricsRequest request;
  request.set_name(args.positional()[0]);
  request.set_from_step(*from_step);
  request.set_follow(args.Has("follow"));
  const Status status =
      client.StreamMetrics(request, [&](const v1::StreamMetricsResponse& response) {
        if (!response.has_step()) return true;
        const v1::StepMetrics& step = response.step();
        context.out << (args.json() ? StepJson(step) : StepLine(step, job->total_steps()))
                    << std::endl;
        return context.out.good();
      });
  if (absl::IsCancelled(status)) return kExitInterrupted;
  return status.ok() ? kExitOk : Fail(status, context);
}

}  // namespace

Command MetricsCommand() {
  return {"metrics",
          "JOB",
          "Show loss, gradient norm, learning rate and speed of every step.",
          "With -o json, one object a line: step, train/loss, grad_norm, optim/learning_rate,\n"
          "throughput/tokens_per_second, throughput/duration (seconds), communication/ici_bytes,\n"
          "communication/dcn_bytes (sent by the reporting rank).\n\n"
          "A model with experts shows load, what the busiest expert gets in times the mean of\n"
          "its layer, and has with -o json also:\n"
          "  train/cross_entropy_loss   train/loss without the next two, which have their\n"
          "                             coefficients in them\n"
          "  train/load_balancing_loss, train/router_z_loss\n"
          "  train/router/routing_entropy_mean, train/router/load_max_over_mean\n"
          "  train/router/capacity_overflow_rate_mean   dropped of all assignments\n"
          "  moe/valid_assignments      tokens times experts of a token, without padding\n"
          "  moe/dropped_assignments    at the token's rank and at the expert's:\n"
          "                             moe/sender_dropped_assignments and\n"
          "                             moe/receiver_dropped_assignments\n"
          "  moe/skipped_padding_assignments, moe/extra_waves\n"
          "  moe/layer{i}/routing_entropy, moe/layer{i}/expert{j}_load (its share of the\n"
          "                             assignments): of the newest 1,000 steps and of each\n"
          "                             hundredth before them\n\n"
          "Examples:\n  trireme metrics tiny-1 --follow\n  trireme metrics tiny-1 -o json > steps.jsonl\n",
          {CoordinatorFlag(),
           {"follow", "", "Go on until the job has ended.", 'f', false, {}},
           {"from-step", "N", "Start at this step.", 0, false, {}}},
          1,
          RunMetrics};
}

}  // namespace trireme
