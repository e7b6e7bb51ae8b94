// File reading with errors that say what to do.
#include "cli/job_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "common/config/config_node.h"
#include "common/config/parse.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

std::string Absolute(const std::string& path, const std::string& folder) {
  if (path.empty()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

}  // namespace

StatusOr<std::string> ReadSmallFile(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return InvalidArgument(path + ": no such file");
  if (fs::is_directory(path, error)) return InvalidArgument(path + ": is a folder, not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument(path + ": cannot be read; check its permissions");
  std::string text(kMaxConfigBytes + 1, 0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxConfigBytes) {
    return InvalidArgument(path + ": over 1 MiB; this is not a job or fleet file");
  }
  return text;
}

StatusOr<JobSpec> LoadJob(const std::string& path, const std::vector<std::string>& overrides,
                          const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  ASSIGN_OR_RETURN(JobSpec spec, ParseJob(text, path, overrides));
  for (DataSource& source : spec.data.train) source.path = Absolute(source.path, folder);
  spec.checkpoint.path = Absolute(spec.checkpoint.path, folder);
  spec.checkpoint.load = Absolute(spec.checkpoint.load, folder);
  return spec;
}

Status CheckDataFiles(const JobSpec& spec, const std::string& path) {
  for (size_t i = 0; i < spec.data.train.size(); ++i) {
    const std::string& file = spec.data.train[i].path;
    const std::string where = path + ": data.train[" + std::to_string(i) + "].path: ";
    std::error_code error;
    if (!fs::is_regular_file(file, error)) {
      return InvalidArgument(where + file +
                             " is not a file; relative paths start at the current folder");
    }
    if (!std::ifstream(file)) return InvalidArgument(where + file + " cannot be read");
  }
  return absl::OkStatus();
}

StatusOr<Topology> LoadFleet(const std::string& path_or_text) {
  if (!path_or_text.empty() && path_or_text[0] == '{') return ParseFleet(path_or_text, "--fleet");
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path_or_text));
  return ParseFleet(text, path_or_text);
}

StatusOr<Topology> LocalTopology(int64_t hosts, int64_t devices_per_host, int64_t slices) {
  if (hosts % slices != 0) {
    return InvalidArgument("--slices " + std::to_string(slices) + " does not divide --hosts " +
                           std::to_string(hosts) + "; slices hold equally many hosts");
  }
  ASSIGN_OR_RETURN(DeviceKind cpu, FindDeviceKind("cpu"));
  const size_t width = std::to_string(hosts - 1).size();
  std::vector<Host> all;
  for (int64_t i = 0; i < hosts; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, width - number.size(), '0');
    all.push_back({"host-" + number, i / (hosts / slices), devices_per_host});
  }
  return MakeTopology(std::move(cpu), std::move(all));
}

int64_t DevicesOfMesh(const JobSpec& spec) {
  int64_t devices = 1;
  for (const AxisSizes* sizes : {&spec.mesh.axes, &spec.mesh.dcn_axes}) {
    for (const auto& [name, size] : *sizes) devices *= size > 0 ? size : 1;
  }
  return devices;
}

}  // namespace trireme
