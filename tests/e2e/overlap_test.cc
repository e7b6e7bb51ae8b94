// Traces of real ranks: async tensor parallelism transfers while it computes, synchronous does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/e2e/cli_process.h"

namespace trireme {
namespace {

struct Busy {
  double transfer = 0;  // microseconds of transfers
  double both = 0;      // of them, beside computation
};

Busy ReadTrace(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  EXPECT_TRUE(json.is_object()) << path;
  std::vector<std::pair<double, double>> tracks[2];
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"];
    tracks[event["tid"].get<int>()].emplace_back(start, start + event["dur"].get<double>());
  }
  Busy busy;
  for (const auto& [start, end] : tracks[1]) {
    busy.transfer += end - start;
    for (const auto& [from, to] : tracks[0]) {
      busy.both += std::max(0.0, std::min(end, to) - std::max(start, from));
    }
  }
  return busy;
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
                    "--set", "network.ici.mbit_per_s=200", "--set", "trace.path=" + trace});
    ASSERT_EQ(result.code, 0) << result.err;
    for (const char* const rank : {"0", "1"}) {
      const Busy busy = ReadTrace(trace + "/rank-0000" + rank + ".trace.json");
      EXPECT_GT(busy.transfer, 0);
      if (async) {
        EXPECT_GT(busy.both, 0.01 * busy.transfer) << "rank " << rank;
      } else {
        EXPECT_LE(busy.both, 0.001 * busy.transfer) << "rank " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace trireme
