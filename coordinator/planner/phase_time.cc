// From the moment a rank stands still, transfers follow each other without a pause until what it
// waits for is over: so the time it stands is that of the transfers it covers.
#include "coordinator/planner/phase_time.h"

#include <algorithm>

#include "common/plan/hazards.h"

namespace trireme {
namespace {

int64_t BytesOf(const ResolvedOperand& operand) {
  int64_t count = 1;
  for (const int64_t size : operand.sizes) count *= size;
  return count * SizeOf(operand.dtype);
}

double Bytes(const ResolvedInstruction& instruction) {
  const std::string& op = instruction.source->op;
  int64_t in = 0;
  int64_t out = 0;
  int64_t largest_in = 0;
  for (const ResolvedOperand& operand : instruction.in) {
    in += BytesOf(operand);
    largest_in = std::max(largest_in, BytesOf(operand));
  }
  for (const ResolvedOperand& operand : instruction.out) out += BytesOf(operand);
  if (op == "embed_lookup") return static_cast<double>(2 * out);
  if (op == "embed_grad" && instruction.source->accumulate) {
    return static_cast<double>(3 * largest_in);
  }
  return static_cast<double>(in + out + (instruction.source->accumulate ? out : 0));
}

struct Flight {
  const Instruction* source = nullptr;
  double begin = 0;
  double end = 0;
  double exposed = 0;
};

class Walk {
 public:
  // Stands still until the first `count` async collectives are over.
  void WaitFor(size_t count) {
    if (count == 0 || flights_[count - 1].end <= now_) return;
    const double until = flights_[count - 1].end;
    for (size_t i = over_; i < count; ++i) {
      Flight& flight = flights_[i];
      flight.exposed += std::max(0.0, flight.end - std::max(flight.begin, now_));
    }
    over_ = count;
    now_ = until;
  }
  void WaitForAll() { WaitFor(flights_.size()); }

  void Compute(double seconds) { now_ += seconds; }

  void Start(const Instruction* source, double seconds) {
    const double begin = std::max(now_, flights_.empty() ? 0 : flights_.back().end);
    flights_.push_back({source, begin, begin + seconds, 0});
  }

  double now() const { return now_; }
  const std::vector<Flight>& flights() const { return flights_; }

 private:
  double now_ = 0;
  size_t over_ = 0;
  std::vector<Flight> flights_;
};

}  // namespace

double KernelSeconds(const ResolvedInstruction& instruction, const DeviceKind& device) {
  const double products = device.flops > 0 ? instruction.source->flops / device.flops : 0;
  const double memory = device.bytes_per_s > 0 ? Bytes(instruction) / device.bytes_per_s : 0;
  return std::max(products, memory) + device.launch_s;
}

PhasePrediction PredictPhase(const StageProgram& program,
                             const std::vector<ResolvedInstruction>& instructions,
                             const DeviceKind& device,
                             const std::function<double(const Instruction&)>& collective_s) {
  const bool any_async =
      std::any_of(instructions.begin(), instructions.end(),
                  [](const ResolvedInstruction& one) { return one.source->async; });
  const std::vector<int32_t> waits =
      any_async ? FindWaits(program, instructions) : std::vector<int32_t>(instructions.size(), 0);
  PhasePrediction result;
  Walk walk;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& source = *instructions[i].source;
    walk.WaitFor(static_cast<size_t>(waits[i]));
    if (!source.predicate.empty()) continue;  // waves beyond the first: not expected to run
    if (!IsCollective(source.op)) {
      const double seconds = KernelSeconds(instructions[i], device);
      result.compute_s += seconds;
      walk.Compute(seconds);
      continue;
    }
    walk.Start(&source, collective_s(source));
    if (!source.async) walk.WaitForAll();
  }
  walk.WaitForAll();
  result.total_s = walk.now();
  for (const Flight& flight : walk.flights()) {
    CollectiveTime& time = result.collectives[flight.source];
    time.exposed_s += flight.exposed;
    time.hidden_s += std::max(0.0, flight.end - flight.begin - flight.exposed);
  }
  return result;
}

}  // namespace trireme
