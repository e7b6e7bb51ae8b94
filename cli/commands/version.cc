// trireme version: of this program, and of the coordinator when it is asked for.
#include <cinttypes>
#include <cstdio>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "kernels/ops/rule.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

constexpr char kVersion[] = "0.1.0";

std::string HashText(uint64_t hash) {
  char text[32];
  std::snprintf(text, sizeof(text), "%016" PRIx64, hash);
  return text;
}

int RunVersion(const Args& args, Context& context) {
  nlohmann::ordered_json json = {{"version", kVersion}, {"op_table", HashText(OpTableHash())}};
  if (args.Has("coordinator")) {
    Client client(CoordinatorAddress(args, context));
    const auto version = client.GetVersion();
    if (!version.ok()) return Fail(version.status(), context);
    json["coordinator_version"] = version->version();
    json["coordinator_op_table"] = HashText(version->op_table_hash());
  }
  if (args.json()) {
    context.out << json.dump() << "\n";
    return kExitOk;
  }
  context.out << "trireme " << kVersion << ", op table " << HashText(OpTableHash()) << "\n";
  if (json.contains("coordinator_version")) {
    context.out << "coordinator " << json["coordinator_version"].get<std::string>()
                << ", op table " << json["coordinator_op_table"].get<std::string>() << "\n";
  }
  return kExitOk;
}

}  // namespace

Command VersionCommand() {
  return {"version",
          "",
          "Show the version of this program, and of a coordinator with --coordinator.",
          "Programs work together when version and op table are the same.\n\n"
          "Example:\n  trireme version --coordinator 127.0.0.1:7700\n",
          {CoordinatorFlag()},
          0,
          RunVersion};
}

}  // namespace trireme
