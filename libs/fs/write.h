// Writing files and directories. Only libs/run may depend on this target: there is one door for output.
//
// Errors.  All kEnvironment unless said otherwise: fs.write_failed, fs.no_space (ENOSPC, EDQUOT, EFBIG; the message has path, bytes written and
//          wanted, and says that free space shown by df may not be the limit on striped or quota file systems), fs.sync_failed, fs.rename_failed,
//          fs.exists (kPrecondition), fs.mkdir_failed, fs.remove_failed.
// Faults.  libs/fs/fault.h.
#ifndef CK_FS_WRITE_H_
#define CK_FS_WRITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ck::fs {

enum class Durability { kSync, kNoSync };  // kNoSync skips every fsync: for tests and scratch disks

// A new file being written. Mode 0666 & ~umask. Thread-safe for WriteAt on disjoint ranges.
class OutputFile {
 public:
  // O_EXCL: fs.exists when the name is taken.
  static std::unique_ptr<OutputFile> Create(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Sets the final size: fallocate, or ftruncate where the file system has none (EOPNOTSUPP).
  void Allocate(uint64_t size_bytes);
  void WriteAt(uint64_t offset, std::string_view data);
  // Starts writing [offset, offset + length) back to disk without waiting, to keep dirty pages few. Best effort.
  void StartWriteback(uint64_t offset, uint64_t length);
  // fsync. EINVAL (odd file systems) is not an error.
  void Sync();
  // Must be called: a close that fails is a failed write. The destructor of an unclosed file only releases the descriptor.
  void Close();

 private:
  OutputFile(std::string path, int fd);
  std::string path_;
  int fd_;
};

// Create + WriteAt + Sync + Close.
void WriteSmallFile(const std::string& path, std::string_view data, Durability durability);

void MakeDirectory(const std::string& path);    // mode 0777 & ~umask; fs.exists when taken
void MakeDirectories(const std::string& path);  // like mkdir -p: existing ones, also made by a racing process, are fine
void SyncDirectory(const std::string& path);
// renameat2(RENAME_NOREPLACE): fs.exists when the target is there. Where the file system lacks it (EINVAL), link/exists check plus rename, documented in the .cc.
void RenameNoReplace(const std::string& from, const std::string& to);
void RenameReplace(const std::string& from, const std::string& to);  // for the marker
void RemoveFile(const std::string& path);     // absent is fine
void RemoveTree(const std::string& path);     // absent is fine; never follows links; no recursion on depth beyond a limit
// Bytes an unprivileged user may still write on the file system that holds `path` (statvfs).
uint64_t FreeSpace(const std::string& path);
void HardLink(const std::string& from, const std::string& to);

uint64_t BytesWritten();  // by this process through this library

}  // namespace ck::fs

#endif  // CK_FS_WRITE_H_
