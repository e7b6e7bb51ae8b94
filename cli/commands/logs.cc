// trireme logs: what ranks and workers wrote.
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

std::string LineText(const v1::LogLine& line) {
  std::string who = line.worker().empty() ? "coordinator" : Printable(line.worker());
  if (line.rank() >= 0) who = "rank " + std::to_string(line.rank());
  return "[" + who + "] " + Printable(line.text());
}

std::string LineJson(const v1::LogLine& line) {
  using Json = nlohmann::ordered_json;
  const double time = static_cast<double>(line.time().seconds()) + 1e-9 * line.time().nanos();
  return Json{{"sequence", line.sequence()}, {"time", time}, {"worker", line.worker()},
              {"rank", line.rank()}, {"attempt", line.attempt()}, {"text", line.text()}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

int RunLogs(const Args& args, Context& context) {
  const auto tail = args.GetInt("tail", 0, 1, 1000000);
  const auto rank = args.GetInt("rank", -1, 0, 1 << 30);
  if (!tail.ok()) return Fail(tail.status(), context);
  if (!rank.ok()) return Fail(rank.status(), context);
  v1::TailLogsRequest request;
  request.set_name(args.positional()[0]);
  request.set_follow(args.Has("follow"));
  request.set_last_lines(*tail);
  Client client(CoordinatorAddress(args, context));
  Interrupt interrupt([&](int) { client.CancelStreams(); });
  const Status status = client.TailLogs(request, [&](const v1::TailLogsResponse& response) {
    if (!response.has_line() || (*rank >= 0 && response.line().rank() != *rank)) return true;
    context.out << (args.json() ? LineJson(response.line()) : LineText(response.line()))
                << std::endl;
    return context.out.good();
  });
  if (absl::IsCancelled(status)) return kExitInterrupted;
  return status.ok() ? kExitOk : Fail(status, context);
}

}  // namespace

Command LogsCommand() {
  return {"logs",
          "JOB",
          "Show what the ranks of a job wrote.",
          "With -o json, one object a line: sequence, time (seconds since 1970), worker, rank (-1: not\n"
          "a rank's line), attempt, text.\n\n"
          "Examples:\n  trireme logs tiny-1 --tail 50\n  trireme logs tiny-1 -f --rank 3\n",
          {CoordinatorFlag(),
           {"follow", "", "Go on until the job has ended.", 'f', false, {}},
           {"rank", "N", "Only lines of this rank.", 0, false, {}},
           {"tail", "N", "Start with the newest N lines.", 'n', false, {}}},
          1,
          RunLogs};
}

}  // namespace trireme
