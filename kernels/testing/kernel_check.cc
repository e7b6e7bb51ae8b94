// CPU kernels against references.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/testing/op_case.h"
#include "kernels/testing/simt/grid.h"
#include "kernels/testing/simt_kernels.h"

namespace trireme {
namespace {

bool Contains(const std::vector<int>& list, size_t i) {
  return std::count(list.begin(), list.end(), static_cast<int>(i)) > 0;
}

void Report(const OpCase& c, const std::string& what, size_t output,
            const std::string& difference) {
  if (difference.empty()) return;
  ADD_FAILURE() << c.op << c.attrs.ToText() << " " << what << ": output " << output << ", "
                << difference;
}

// Outputs to add into: random where the op accumulates, as `plain` shaped.
std::vector<HostTensor> Preset(const OpCase& c, const std::vector<HostTensor>& plain) {
  std::vector<HostTensor> outputs = plain;
  TestRandom random(c.seed + 1000);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!Contains(FindRule(c.op).accumulating_outputs, i)) continue;
    for (int64_t j = 0; j < outputs[i].count(); ++j) outputs[i].Set(j, random.Normal());
  }
  return outputs;
}

// Fibers take microseconds where threads take nothing.
constexpr int64_t kMostSimtElements = 12000;

void CheckSimtMatchesReference(const OpCase& c, const std::vector<HostTensor>& inputs,
                               const std::vector<HostTensor>& plain,
                               const std::vector<HostTensor>& preset,
                               const std::vector<HostTensor>& added, double tolerance) {
  int64_t elements = 0;
  for (const auto* tensors : {&inputs, &plain}) {
    for (const HostTensor& tensor : *tensors) elements += tensor.count();
  }
  if (FindSimtKernel(c.op) == nullptr || elements > kMostSimtElements) return;
  for (const uint64_t seed : {1, 2}) {
    simt::SetSeed(seed);
    const std::vector<HostTensor> outputs = RunOp(c, inputs, {.simt = true});
    for (size_t i = 0; i < plain.size(); ++i) {
      Report(c, "cuda on the CPU", i, Difference(plain[i], outputs[i], tolerance));
    }
  }
  if (FindRule(c.op).accumulating_outputs.empty()) return;
  std::vector<HostTensor> outputs = preset;
  RunInto(c, c.attrs, inputs, {.simt = true, .accumulate = true}, outputs);
  for (size_t i = 0; i < added.size(); ++i) {
    Report(c, "cuda on the CPU, accumulating", i, Difference(added[i], outputs[i], tolerance));
  }
}

}  // namespace

void CheckCpuMatchesReference(const OpCase& c, double tolerance) {
  const std::vector<HostTensor> inputs = MakeInputs(c);
  const std::vector<HostTensor> plain = RunOp(c, inputs);
  const std::vector<int>& adding = FindRule(c.op).accumulating_outputs;
  const std::vector<HostTensor> preset = Preset(c, plain);
  std::vector<HostTensor> added = preset;
  if (!adding.empty()) RunInto(c, c.attrs, inputs, {.accumulate = true}, added);
  for (size_t i = 0; i < plain.size(); ++i) {
    if (!Contains(adding, i)) continue;
    HostTensor sum = plain[i];
    for (int64_t j = 0; j < sum.count(); ++j) sum.Set(j, plain[i].Get(j) + preset[i].Get(j));
    Report(c, "reference accumulating", i, Difference(sum, added[i], 1e-6));
  }
  CheckSimtMatchesReference(c, inputs, plain, preset, added, tolerance);
  for (const int threads : {1, 2}) {
    const std::string suffix = " on " + std::to_string(threads) + " threads";
    const RunOptions options{.cpu = true, .num_threads = threads};
    const std::vector<HostTensor> cpu = RunOp(c, inputs, options);
    for (size_t i = 0; i < plain.size(); ++i) {
      Report(c, "cpu" + suffix, i, Difference(plain[i], cpu[i], tolerance));
    }
    if (adding.empty()) continue;
    std::vector<HostTensor> cpu_added = preset;
    RunInto(c, c.attrs, inputs, {.cpu = true, .accumulate = true, .num_threads = threads},
            cpu_added);
    for (size_t i = 0; i < added.size(); ++i) {
      Report(c, "cpu accumulating" + suffix, i, Difference(added[i], cpu_added[i], tolerance));
    }
  }
}

}  // namespace trireme
