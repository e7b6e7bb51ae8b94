// The layouts whose training must equal one rank's: each a mesh, its mappings and a model.
#ifndef TRIREME_TESTS_NUMERICS_LAYOUT_CASES_H_
#define TRIREME_TESTS_NUMERICS_LAYOUT_CASES_H_

#include <ostream>
#include <string>
#include <vector>

#include "common/config/fleet.h"
#include "common/config/job_spec.h"

namespace trireme {

struct LayoutCase {
  std::string name;
  std::string overrides;  // "; "-separated job overrides on top of the base job
  std::string model = "llama";
  int64_t devices = 1;
  int64_t slices = 1;
};

inline void PrintTo(const LayoutCase& layout, std::ostream* out) {
  *out << layout.name << " {" << layout.overrides << "}";
}

// Data, tensor, sequence, expert and pipeline parallelism and their pairs, on up to 8 ranks.
std::vector<LayoutCase> LayoutCases();
// Beyond those: async and ring forms, context parallelism, several slices, all pipeline orders.
std::vector<LayoutCase> ParallelCases();
// Experts: both exchanges, alone and with every other dimension, and folded into other axes.
std::vector<LayoutCase> ExpertCases();
// `count` combinations of all of it on up to 8 ranks, always the same ones.
std::vector<LayoutCase> RandomCases(int count);
// The same with experts, split or not.
std::vector<LayoutCase> RandomExpertCases(int count);

// The base job of `model` with a case's overrides; devices on one host a slice.
StatusOr<JobSpec> LayoutJob(const LayoutCase& layout);
StatusOr<Topology> LayoutTopology(const LayoutCase& layout);
// The same model and batch on one rank.
StatusOr<JobSpec> OneRankJob(const LayoutCase& layout);

}  // namespace trireme

#endif  // TRIREME_TESTS_NUMERICS_LAYOUT_CASES_H_
