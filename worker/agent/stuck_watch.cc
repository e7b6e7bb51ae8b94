// Progress is any change of the place in the schedule or of the newest call.
#include "worker/agent/stuck_watch.h"

namespace trireme {
namespace {

std::string MarkOf(const FlightRecording& recording) {
  std::string mark = std::to_string(recording.progress.step) + " " +
                     std::to_string(recording.progress.item) + " " +
                     std::to_string(recording.progress.instruction);
  if (recording.calls.empty()) return mark;
  const CallRecord& last = recording.calls.back();
  return mark + " " + std::to_string(last.sequence) + " " +
         std::to_string(static_cast<int>(last.state));
}

}  // namespace

void StuckWatch::Look(const std::string& path, const FlightRecording& recording, int64_t now_ms,
                      int64_t wall_ns, v1::RankBeat& beat) {
  const auto [seen, is_new] = seen_.try_emplace(path, Seen{"", now_ms});
  const std::string mark = MarkOf(recording);
  if (seen->second.mark != mark) seen->second = {mark, now_ms};
  const int64_t still_ms = now_ms - seen->second.since_ms;
  beat.set_no_progress_s(static_cast<double>(still_ms) / 1000.0);
  if (still_ms < stuck_ms_) return;
  FlightRecording last = recording;
  if (last.calls.size() > 1) last.calls.erase(last.calls.begin(), last.calls.end() - 1);
  std::string text = last.calls.empty() || last.calls[0].state != CallState::kStarted
                         ? "computing, step " + std::to_string(recording.progress.step) + " item " +
                               std::to_string(recording.progress.item) + " instruction " +
                               std::to_string(recording.progress.instruction)
                         : ToText(last, wall_ns);
  text = text.substr(
      0, text.find(" age="));  // no_progress_s says it; the same call keeps the same text
  while (!text.empty() && text.back() == '\n') text.pop_back();
  beat.set_stuck_in(text);
}

}  // namespace trireme
