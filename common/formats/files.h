// Files the safe way: mapped for reading, and written beside their name, synced, then renamed, so
// that a reader sees the old file or the whole new one, whatever dies in between.
#ifndef TRIREME_COMMON_FORMATS_FILES_H_
#define TRIREME_COMMON_FORMATS_FILES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace trireme {

// A file in memory, read-only, for as long as this lives. Moving it keeps data() where it is.
class MappedFile {
 public:
  // Errors: kNotFound, kUnavailable with the system's reason; both name the path.
  static StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> data() const { return {begin_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;

  std::string path_;
  const std::byte* begin_ = nullptr;
  size_t size_ = 0;
};

// Writes `<path>.tmp.<pid>` piece by piece; Commit() makes it `path`. Without Commit() nothing is
// left behind.
class AtomicFileWriter {
 public:
  // Errors: kUnavailable naming the path and the system's reason.
  static StatusOr<AtomicFileWriter> Create(const std::string& path);

  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  AtomicFileWriter& operator=(AtomicFileWriter&&) = delete;
  ~AtomicFileWriter();

  Status Append(std::span<const std::byte> bytes);
  Status Append(std::string_view text);
  // Syncs the file, renames it, syncs the folder. Call once.
  Status Commit();

 private:
  AtomicFileWriter() = default;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

Status WriteFileAtomically(const std::string& path, std::string_view bytes);

// Errors: as MappedFile::Open; kInvalidArgument when it is larger than max_bytes.
StatusOr<std::string> ReadFile(const std::string& path, int64_t max_bytes);

// Makes the folder and those above it. Errors: kUnavailable naming the path.
Status MakeFolders(const std::string& path);

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_FILES_H_
