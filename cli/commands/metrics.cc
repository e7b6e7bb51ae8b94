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
          "Examples:\n  trireme metrics tiny-1 --follow\n  trireme metrics tiny-1 -o json > steps.jsonl\n",
          {CoordinatorFlag(),
           {"follow", "", "Go on until the job has ended.", 'f', false, {}},
           {"from-step", "N", "Start at this step.", 0, false, {}}},
          1,
          RunMetrics};
}

}  // namespace trireme
