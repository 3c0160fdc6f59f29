// Writing files and directories. Only libs/run may depend on this target: there is one door for output.
//
// Errors.  All kEnvironment unless said otherwise: fs.write_failed, fs.no_space (ENOSPC, EDQUOT, EFBIG; the message has path, bytes written and
//          wanted, and says that free space shown by df may not be the limit on striped or quota file systems), fs.sync_failed, fs.rename_failed,
//          fs.exists (kPrecondition), fs.mkdir_failed, fs.remove_failed.
//          Only an unreadable path in MakeDirectories gives an id of read.h.
// Signals. A caller must ignore SIGXFSZ, else `ulimit -f` ends the process instead of giving fs.no_space.
// Faults.  libs/fs/fault.h.
#ifndef CK_FS_WRITE_H_
#define CK_FS_WRITE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  // Permission bits instead of those the umask gave: for a file that replaces another one.
  void SetMode(uint32_t mode);
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
  std::atomic<uint64_t> written_bytes_{0};
  uint64_t allocated_bytes_ = 0;
};

// Create + WriteAt + Sync + Close. Leaves no file behind when it fails.
void WriteSmallFile(const std::string& path, std::string_view data, Durability durability);

void MakeDirectory(const std::string& path);    // mode 0777 & ~umask; fs.exists when taken
// Like mkdir -p: existing ones, also those made by a racing process, are fine. Returns those it made, outermost first. When it
// fails it removes those again.
std::vector<std::string> MakeDirectories(const std::string& path);
void SyncDirectory(const std::string& path);
void SyncFile(const std::string& path);  // a finished file that someone else may have written
// renameat2(RENAME_NOREPLACE): fs.exists when the target is there. Where the file system lacks it (NFS), a file is linked to its new
// name (just as exclusive), a directory is renamed after a look at the target, which leaves a window in which an *empty* directory
// made by someone else would be replaced; rename itself refuses a target with content.
void RenameNoReplace(const std::string& from, const std::string& to);
// Plain rename: replaces a file, or an empty directory by a directory. A directory with content in the way: fs.exists.
void RenameReplace(const std::string& from, const std::string& to);
void RemoveFile(const std::string& path);            // absent is fine
bool RemoveEmptyDirectory(const std::string& path);  // absent is fine; false when it has content
// A file, a link or a whole directory; absent is fine. Never follows links, also not those exchanged while it works. Directories nested
// deeper than 64 levels: fs.remove_failed.
void RemoveTree(const std::string& path);
// Bytes an unprivileged user may still write on the file system that holds `path` (statvfs).
uint64_t FreeSpace(const std::string& path);
void HardLink(const std::string& from, const std::string& to);

uint64_t BytesWritten();  // by this process through this library

}  // namespace ck::fs

#endif  // CK_FS_WRITE_H_
