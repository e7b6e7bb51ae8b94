// How steps, times and durations look: one JSON object a step for scripts, one compact line for people.
#ifndef TRIREME_CLI_PROGRESS_H_
#define TRIREME_CLI_PROGRESS_H_

#include <cstdint>
#include <string>

#include "trireme/v1/rank.pb.h"

namespace trireme {

// {"step":1,"train/loss":5.5,"grad_norm":1.2,"optim/learning_rate":0.001,"throughput/tokens_per_second":9000,
//  "throughput/duration":0.2,"communication/ici_bytes":4096,"communication/dcn_bytes":0}, without line break; seconds,
// tokens, and bytes that the reporting rank sent. Values that are not finite become null. Of models with experts also
// the keys of AddRouterJson.
std::string StepJson(const v1::StepMetrics& step);

// "step 12/600  loss 3.412  grad_norm 0.81  lr 9.1e-04  12.7k tok/s  412 ms  eta 1h02m"; with experts "load 1.83x"
// after lr: what the busiest expert gets, in times the mean of its layer.
std::string StepLine(const v1::StepMetrics& step, int64_t total_steps);

// "412 ms", "3.2 s", "1m05s", "1h02m", "3d04h".
std::string HumanDuration(double seconds);

// "950", "12.7k", "1.27M".
std::string HumanCount(double value);

// "12,345"
std::string WithCommas(int64_t value);

}  // namespace trireme

#endif  // TRIREME_CLI_PROGRESS_H_
