// Trace Event Format: one complete event ("ph": "X") a call, times in microseconds.
#include "worker/executor/trace.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

namespace trireme {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

std::string Microseconds(int64_t ns) {
  char text[40];
  snprintf(text, sizeof(text), "%lld.%03lld", static_cast<long long>(ns / 1000),
           static_cast<long long>(ns % 1000));
  return text;
}

}  // namespace

void TraceRecorder::Add(TraceEvent event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<TraceEvent> TraceRecorder::events() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return events_;
}

std::string TraceRecorder::ToJson() const {
  const std::string pid = std::to_string(rank_);
  std::string json = "{\"traceEvents\":[\n";
  json += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + pid + ",\"args\":{\"name\":\"rank " +
          pid + "\"}}";
  for (const char* name : {"compute", "transfer"}) {
    json += ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + pid +
            ",\"tid\":" + (name[0] == 'c' ? "0" : "1") + ",\"args\":{\"name\":\"" + name + "\"}}";
  }
  for (const TraceEvent& event : events()) {
    json += ",\n{\"ph\":\"X\",\"pid\":" + pid +
            ",\"tid\":" + std::to_string(static_cast<int>(event.track)) +
            ",\"name\":" + Quoted(event.name) + ",\"ts\":" + Microseconds(event.start_ns) +
            ",\"dur\":" + Microseconds(event.end_ns - event.start_ns) + "}";
  }
  return json + "\n]}\n";
}

Status TraceRecorder::Write(const std::string& path) const {
  std::ofstream file(path);
  file << ToJson();
  file.close();
  if (!file) return Unavailable("cannot write the trace " + path + "; check trace.path");
  return absl::OkStatus();
}

int64_t OverlapNs(const std::vector<TraceEvent>& events) {
  struct Edge {
    int64_t at;
    int track;
    int change;
  };
  std::vector<Edge> edges;
  for (const TraceEvent& event : events) {
    const int track = static_cast<int>(event.track);
    edges.push_back({event.start_ns, track, 1});
    edges.push_back({event.end_ns, track, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  int busy[2] = {};
  int64_t overlap = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    busy[edges[i].track] += edges[i].change;
    if (busy[0] > 0 && busy[1] > 0) overlap += edges[i + 1].at - edges[i].at;
  }
  return overlap;
}

}  // namespace trireme
