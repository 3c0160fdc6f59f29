// Reading files and directories: every system call that reads stands in this library.
//
// Errors.  fs.not_found, fs.permission, fs.not_a_file, fs.not_a_directory, fs.read_failed, fs.shrunk (the file became shorter while we read),
//          fs.too_large. kInput for not_found, not_a_* and too_large (what is there is wrong), kEnvironment for the rest (it cannot be read).
// Faults.  libs/fs/fault.h can make the next operation of a kind fail; tests only.
#ifndef CK_FS_READ_H_
#define CK_FS_READ_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/bytes/source.h"

namespace ck::fs {

enum class FileType { kFile, kDirectory, kOther };

struct Info {
  FileType type = FileType::kOther;
  uint64_t size_bytes = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint32_t mode = 0;  // permission bits
};

// Follows links. nullopt when nothing is there (ENOENT, ENOTDIR, a dangling link); other failures throw.
std::optional<Info> Stat(const std::string& path);

struct Entry {
  std::string name;
  // Links are followed. kOther with size 0 for an entry that vanished between the scan and the look, or dangles: `vanished` is then set.
  Info info;
  bool vanished = false;
};

// The entries of a directory, "." and ".." left out, sorted by name (byte order). A link into a place we may not look at is kOther.
std::vector<Entry> ListDirectory(const std::string& path);

// The same names without a look at each entry: one system call per few hundred names.
struct Name {
  std::string name;
  bool is_directory = false;  // links are not followed: a link is no directory
};
std::vector<Name> ListNames(const std::string& path);

// True when the name itself is taken, also by a dangling link.
bool NameTaken(const std::string& path);

// The path with all links resolved; it must exist (fs.not_found).
std::string RealPath(const std::string& path);

// A whole small file. Longer than `limit_bytes`: Error fs.too_large, before anything is allocated.
std::string ReadSmallFile(const std::string& path, uint64_t limit_bytes);

// A regular file open for positioned reads. Thread-safe. Never maps: a file that shrinks gives an error, not a signal.
// A stale NFS handle (ESTALE) is retried once by reopening the path; when that leads to another file or another version of it,
// fs.read_failed: bytes of two versions must not be mixed.
class InputFile : public bytes::Source {
 public:
  static std::unique_ptr<InputFile> Open(const std::string& path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const override { return size_; }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override;
  std::string name() const override { return path_; }
  // Tells the kernel that [offset, offset + length) is wanted soon.
  void WillNeed(uint64_t offset, uint64_t length) const;

 private:
  // What tells one version of a file from another.
  struct Version {
    uint64_t device, inode, size_bytes;
    int64_t modified_seconds, modified_nanoseconds;
    bool operator==(const Version&) const = default;
  };
  static int OpenFile(const std::string& path, Version& version);

  InputFile(std::string path, int fd, const Version& version);
  void Reopen() const;

  std::string path_;
  int fd_;
  uint64_t size_;
  Version version_;
};

// Bytes read through this library by this process so far (files and small files): the `bytes_read` of ck.result.
uint64_t BytesRead();

// Lexical path work (links are kept, nothing is asked of the file system except the working directory for relative paths).
std::string AbsolutePath(const std::string& path);   // absolute and lexically cleaned: no ".", "..", "//"
std::string JoinPath(std::string_view directory, std::string_view name);
std::string BaseName(std::string_view path);
std::string DirName(std::string_view path);          // "." for a bare name, "/" for "/x"

// True when `name` is one plain component that stays in its directory: not empty, not "." or "..", no '/', no NUL or control byte.
bool IsPlainName(std::string_view name);

}  // namespace ck::fs

#endif  // CK_FS_READ_H_
