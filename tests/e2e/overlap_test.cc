// Traces of real ranks: async tensor parallelism transfers while it computes, synchronous does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

// Transfers around the ring (or in line, when it is synchronous), and those of them that had
// arithmetic beside them.
struct Transfers {
  int all = 0;
  int beside = 0;
};

Transfers ReadTrace(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  EXPECT_TRUE(json.is_object()) << path;
  std::vector<std::pair<double, double>> tracks[2];
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"];
    tracks[event["tid"].get<int>()].emplace_back(start, start + event["dur"].get<double>());
  }
  Transfers transfers;
  for (const auto& [start, end] : tracks[1]) {
    ++transfers.all;
    for (const auto& [from, to] : tracks[0]) {
      if (std::min(to, end) - std::max(from, start) > 1) {  // a microsecond: clocks step
        ++transfers.beside;
        break;
      }
    }
  }
  return transfers;
}

TEST(Traces, AsyncTransfersRunBesideArithmetic) {
  for (const bool async : {false, true}) {
    const CliFolder folder;
    const std::string trace = folder.path() + "/tmp/trace";
    const CliResult result =
        folder.Run({"run", folder.Write("job.yaml", LlamaJob()), "-o", "json", "--hosts", "2",
                    "--devices-per-host", "1", "--set", "mesh.axes={data: 1, model: 2}", "--set",
                    std::string("tensor_parallel={mode: reduce_scatter, async: ") +
                        (async ? "true" : "false") + "}",
                    // A millisecond at least for every message, whatever else the machine does.
                    "--set", "network.ici.latency_ms=1", "--set", "trace.path=" + trace});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const char* const rank : {"0", "1"}) {
      const Transfers transfers = ReadTrace(trace + "/rank-0000" + rank + ".trace.json");
      EXPECT_GT(transfers.all, 100) << "rank " << rank;
      if (async) {
        EXPECT_GT(transfers.beside, 20) << "rank " << rank << " of " << transfers.all;
      } else {
        EXPECT_EQ(transfers.beside, 0) << "rank " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace trireme
