// trireme nodes: the workers of the cluster.
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/job_view.h"
#include "cli/progress.h"
#include "coordinator/planner/text_table.h"

namespace trireme {
namespace {

std::string NodeTable(const v1::ListNodesResponse& response) {
  if (response.nodes().empty()) {
    return "no workers; start one on each host with: trireme-worker --coordinator HOST:PORT\n";
  }
  TextTable table({"node", "slice", "device", "count", "busy", "state", "heard", "jobs"});
  for (const v1::Node& node : response.nodes()) {
    std::string jobs;
    for (const std::string& job : node.jobs()) jobs += (jobs.empty() ? "" : " ") + BareName(job);
    std::string state = v1::Node::State_Name(node.state());
    if (!node.reason().empty()) state += ": " + Printable(node.reason());
    table.AddRow({Printable(node.name()), Printable(node.slice()), Printable(node.device_kind()),
                  std::to_string(node.num_devices()), std::to_string(node.busy_devices()), state,
                  HumanDuration(node.last_beat_age_s()) + " ago", jobs.empty() ? "-" : jobs});
  }
  return table.ToText();
}

int RunNodes(const Args& args, Context& context) {
  Client client(CoordinatorAddress(args, context));
  const auto nodes = client.ListNodes();
  if (!nodes.ok()) return Fail(nodes.status(), context);
  if (args.json()) {
    for (const v1::Node& node : nodes->nodes()) context.out << NodeJson(node) << "\n";
  } else {
    context.out << NodeTable(*nodes);
  }
  return kExitOk;
}

}  // namespace

Command NodesCommand() {
  return {"nodes",
          "",
          "Show the hosts of the cluster and what runs on them.",
          "With -o json, one object a line: name, host, slice, device, num_devices, busy_devices,\n"
          "state, reason, version, last_beat_age_s, jobs.\n\n"
          "Example:\n  trireme nodes\n",
          {CoordinatorFlag()},
          0,
          RunNodes};
}

}  // namespace trireme
