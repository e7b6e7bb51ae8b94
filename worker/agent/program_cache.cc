// Files are written beside their final name and renamed, so a half-written one is never read as a
// whole.
#include "worker/agent/program_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "common/formats/sha256.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

bool IsHash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

ProgramCache::ProgramCache(std::string folder, Fetch fetch, size_t max_programs)
    : folder_(std::move(folder)), fetch_(std::move(fetch)), max_programs_(max_programs) {
  std::error_code ignored;  // without the folder nothing is kept
  fs::create_directories(folder_, ignored);
}

StatusOr<std::string> ProgramCache::Get(const std::string& sha256) {
  if (!IsHash(sha256)) return InvalidArgument("'" + sha256 + "' is no SHA-256 in hexadecimal");
  const std::string path = folder_ + "/" + sha256;
  std::error_code ignored;
  std::string bytes = ReadAll(path);
  if (!bytes.empty() && Sha256Hex(bytes) == sha256) {
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    return bytes;
  }
  ASSIGN_OR_RETURN(bytes, fetch_(sha256));
  if (const std::string actual = Sha256Hex(bytes); actual != sha256) {
    return Unavailable("asked for program " + sha256 + " but got " + actual + " (" +
                       std::to_string(bytes.size()) + " bytes)");
  }
  Keep(path, bytes);
  return bytes;
}

void ProgramCache::Keep(const std::string& path, const std::string& bytes) {
  std::error_code error;
  {
    std::ofstream file(path + ".part", std::ios::binary | std::ios::trunc);
    file << bytes;
    if (!file.flush()) return;
  }
  fs::rename(path + ".part", path, error);
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    files.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i + max_programs_ < files.size(); ++i) fs::remove(files[i].second, error);
}

}  // namespace trireme
