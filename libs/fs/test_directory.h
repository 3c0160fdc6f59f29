// A fresh directory for one test, and short ways to fill and read it. Deliberately not built on libs/fs, which it helps to test.
#ifndef CK_FS_TEST_DIRECTORY_H_
#define CK_FS_TEST_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include "gtest/gtest.h"

namespace ck::fs {

class TestDirectory {
 public:
  explicit TestDirectory(const std::string& base = ::testing::TempDir()) {
    std::string name = (std::filesystem::path(base) / "ck_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& data) const {
    const std::string path = path_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << data;
    return path;
  }

 private:
  std::string path_;
};

// A base in memory where there is one, for tests that start hundreds of processes.
inline std::string MemoryBase() {
  const std::filesystem::path shm = "/dev/shm";
  std::error_code ignored;
  const bool writable = std::filesystem::is_directory(shm, ignored) && access(shm.c_str(), W_OK) == 0;
  return writable ? shm.string() : ::testing::TempDir();
}

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace ck::fs

#endif  // CK_FS_TEST_DIRECTORY_H_
