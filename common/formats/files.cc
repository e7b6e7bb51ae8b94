// Plain POSIX calls; every failure carries the path and errno's words.
#include "common/formats/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/check.h"

namespace trireme {
namespace {

Status SystemError(const std::string& path, std::string_view doing) {
  const int error = errno;
  std::string text = path + ": " + std::string(doing) + ": " + std::strerror(error);
  return error == ENOENT ? NotFound(text) : Unavailable(text);
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Makes a rename in `folder` last.
Status SyncFolder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(folder, "open the folder");
  const int result = ::fsync(fd);
  const Status status = result == 0 ? absl::OkStatus() : SystemError(folder, "sync the folder");
  ::close(fd);
  return status;
}

}  // namespace

StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "open");
  MappedFile file;
  file.path_ = path;
  Status status;
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    status = SystemError(path, "read its size");
  } else if (!S_ISREG(info.st_mode)) {
    status = Unavailable(path + ": not a regular file");
  } else if (info.st_size > 0) {
    void* begin = ::mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) {
      status = SystemError(path, "map");
    } else {
      file.begin_ = static_cast<const std::byte*>(begin);
      file.size_ = static_cast<size_t>(info.st_size);
    }
  }
  ::close(fd);
  RETURN_IF_ERROR(status);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (begin_ != nullptr) ::munmap(const_cast<std::byte*>(begin_), size_);
}

StatusOr<AtomicFileWriter> AtomicFileWriter::Create(const std::string& path) {
  AtomicFileWriter writer;
  writer.path_ = path;
  writer.temporary_ = path + ".tmp." + std::to_string(::getpid());
  writer.fd_ = ::open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (writer.fd_ < 0) {
    // A missing folder is no missing file to the caller: it cannot write there.
    const Status status = SystemError(writer.temporary_, "create");
    writer.temporary_.clear();
    return Unavailable(ToStd(status.message()));
  }
  return writer;
}

AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFileWriter::~AtomicFileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFileWriter::Append(std::span<const std::byte> bytes) {
  CHECK(fd_ >= 0) << "append after commit " << path_;
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(temporary_, "write");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

Status AtomicFileWriter::Append(std::string_view text) {
  return Append(std::as_bytes(std::span(text.data(), text.size())));
}

Status AtomicFileWriter::Commit() {
  CHECK(fd_ >= 0) << "second commit " << path_;
  if (::fsync(fd_) != 0) return SystemError(temporary_, "sync");
  if (::close(std::exchange(fd_, -1)) != 0) return SystemError(temporary_, "close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return SystemError(path_, "rename");
  temporary_.clear();
  return SyncFolder(FolderOf(path_));
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));
  RETURN_IF_ERROR(writer.Append(bytes));
  return writer.Commit();
}

StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (static_cast<int64_t>(file.data().size()) > max_bytes) {
    return InvalidArgument(path + ": " + std::to_string(file.data().size()) + " bytes; at most " +
                           std::to_string(max_bytes) + " are read");
  }
  return std::string(reinterpret_cast<const char*>(file.data().data()), file.data().size());
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Unavailable(path + ": make the folder: " + error.message());
  return absl::OkStatus();
}

}  // namespace trireme
