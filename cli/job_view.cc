// Reads messages, writes text.
#include "cli/job_view.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/progress.h"
#include "nlohmann/json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string UtcText(int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof(text), format, &parts);
  return text;
}

Json TimeJson(bool present, const google::protobuf::Timestamp& time) {
  if (!present) return nullptr;
  char text[64];
  std::snprintf(text, sizeof(text), "%s.%03dZ",
                UtcText(time.seconds(), "%Y-%m-%dT%H:%M:%S").c_str(), time.nanos() / 1000000);
  return text;
}

std::string Line(const std::string& key, const std::string& value) {
  return "  " + key + std::string(12 - std::min<size_t>(11, key.size()), ' ') + value + "\n";
}

std::string StepsText(const v1::Job& job) {
  std::string text = WithCommas(job.step()) + " of " + WithCommas(job.total_steps());
  if (job.total_steps() > 0) {
    text += " (" + std::to_string(100 * job.step() / job.total_steps()) + " %)";
  }
  if (job.step() > 0) {
    char loss[32];
    std::snprintf(loss, sizeof(loss), ", loss %.4f", job.loss());
    text += loss;
  }
  return text;
}

Json WarningsJson(const v1::Job& job) {
  Json json = Json::array();
  for (const v1::RouterWarning& warning : job.router_warnings()) {
    json.push_back({{"kind", v1::RouterWarning::Kind_Name(warning.kind())},
                    {"layer", warning.layer()},
                    {"expert", warning.expert() >= 0 ? Json(warning.expert()) : Json()},
                    {"figure", warning.figure()},
                    {"steps", warning.steps()},
                    {"text", warning.text()}});
  }
  return json;
}

// What to type next.
std::string NextText(const v1::Job& job) {
  const std::string id = BareName(job.name());
  switch (job.state()) {
    case v1::Job::QUEUED:
      return "trireme nodes   (who has the devices)";
    case v1::Job::FAILED:
      return "trireme logs " + id;
    case v1::Job::SUCCEEDED:
      return job.checkpoint_step() > 0
                 ? "trireme generate --checkpoint " + job.checkpoint_folder() + " --prompt TEXT"
                 : "trireme metrics " + id;
    case v1::Job::CANCELLED:
      return "";
    default:
      return "trireme metrics " + id + " --follow";
  }
}

}  // namespace

std::string StateText(v1::Job::State state, v1::Job::SubPhase sub_phase) {
  std::string text = v1::Job::State_Name(state);
  if (sub_phase == v1::Job::SUB_PHASE_UNSPECIFIED) return text;
  std::string phase = v1::Job::SubPhase_Name(sub_phase);
  std::transform(phase.begin(), phase.end(), phase.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text + " (" + phase + ")";
}

bool HasEnded(v1::Job::State state) {
  return state == v1::Job::SUCCEEDED || state == v1::Job::FAILED || state == v1::Job::CANCELLED;
}

std::string JobJson(const v1::Job& job) {
  const std::string sub_phase = job.sub_phase() == v1::Job::SUB_PHASE_UNSPECIFIED
                                    ? ""
                                    : v1::Job::SubPhase_Name(job.sub_phase());
  Json spec = job.spec_json().empty() ? Json() : Json::parse(job.spec_json(), nullptr, false);
  if (spec.is_discarded()) spec = job.spec_json();
  Json json = {{"id", BareName(job.name())},
               {"name", job.name()},
               {"display_name", job.display_name()},
               {"state", v1::Job::State_Name(job.state())},
               {"sub_phase", sub_phase},
               {"reason", job.reason()},
               {"attempt", job.attempt()},
               {"num_ranks", job.num_ranks()},
               {"step", job.step()},
               {"total_steps", job.total_steps()},
               {"loss", job.loss()},
               {"router_warnings", WarningsJson(job)},
               {"checkpoint_step", job.checkpoint_step()},
               {"checkpoint_folder", job.checkpoint_folder()},
               {"hosts", std::vector<std::string>(job.hosts().begin(), job.hosts().end())},
               {"create_time", TimeJson(job.has_create_time(), job.create_time())},
               {"start_time", TimeJson(job.has_start_time(), job.start_time())},
               {"end_time", TimeJson(job.has_end_time(), job.end_time())},
               {"plan_summary", job.plan_summary().empty() ? Json() : Json(job.plan_summary())},
               {"spec", spec}};
  return Dump(json);
}

std::string JobScreen(const v1::Job& job, int64_t now_s) {
  std::string text = BareName(job.name()) + "  " + StateText(job.state(), job.sub_phase()) + "\n";
  text += Line("why", job.reason().empty() ? "-" : Printable(job.reason()));
  text += Line("steps", StepsText(job));
  for (const v1::RouterWarning& warning : job.router_warnings()) {
    text += Line("warning", Printable(warning.text()));
  }
  std::string hosts;
  for (const std::string& host : job.hosts()) hosts += (hosts.empty() ? " on " : ", ") + host;
  text += Line("ranks", std::to_string(job.num_ranks()) + Printable(hosts));
  if (job.attempt() > 0) text += Line("attempt", std::to_string(job.attempt()));
  if (job.has_create_time()) text += Line("created", TimeText(job.create_time(), now_s));
  if (job.has_start_time()) text += Line("started", TimeText(job.start_time(), now_s));
  if (job.has_end_time()) text += Line("ended", TimeText(job.end_time(), now_s));
  text += Line("checkpoint", job.checkpoint_step() > 0
                                 ? "step " + WithCommas(job.checkpoint_step()) + " in " +
                                       Printable(job.checkpoint_folder())
                                 : "none yet");
  if (!job.plan_summary().empty()) text += "\n" + job.plan_summary();
  if (text.back() != '\n') text += "\n";
  const std::string next = NextText(job);
  if (!next.empty()) text += "\nnext: " + Printable(next) + "\n";
  return text;
}

std::string NodeJson(const v1::Node& node) {
  return Dump({{"name", node.name()},
               {"host", node.host()},
               {"slice", node.slice()},
               {"device", node.device_kind()},
               {"num_devices", node.num_devices()},
               {"busy_devices", node.busy_devices()},
               {"state", v1::Node::State_Name(node.state())},
               {"reason", node.reason()},
               {"version", node.version()},
               {"last_beat_age_s", node.last_beat_age_s()},
               {"jobs", std::vector<std::string>(node.jobs().begin(), node.jobs().end())}});
}

std::string TimeText(const google::protobuf::Timestamp& time, int64_t now_s) {
  return UtcText(time.seconds(), "%Y-%m-%d %H:%M:%S") + " UTC (" +
         HumanDuration(static_cast<double>(std::max<int64_t>(0, now_s - time.seconds()))) + " ago)";
}

}  // namespace trireme
