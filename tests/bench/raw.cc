// usage: raw THREADS sync|nosync OUTPUT INPUT...
//
// The floor of scripts/bench: reads every byte of the input files and writes as many bytes as the first one has, with 256 KiB steps shared by THREADS threads.
// No arithmetic, no format. The output is preallocated, and synced when asked.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint64_t kStep = 256 << 10;

void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int threads = std::atoi(argv[1]);
  const bool sync = std::string(argv[2]) == "sync";
  std::vector<int> inputs;
  for (int i = 4; i < argc; ++i) {
    inputs.push_back(open(argv[i], O_RDONLY));
    if (inputs.back() < 0) Fail(argv[i]);
  }
  struct stat info {};
  if (fstat(inputs[0], &info) != 0) Fail(argv[4]);
  const auto size = static_cast<uint64_t>(info.st_size);
  const int out = open(argv[3], O_CREAT | O_EXCL | O_WRONLY, 0666);
  if (out < 0) Fail(argv[3]);
  if (fallocate(out, 0, 0, static_cast<off_t>(size)) != 0 && ftruncate(out, static_cast<off_t>(size)) != 0) Fail(argv[3]);
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    std::vector<char> buffer(kStep);
    while (true) {
      const uint64_t offset = next.fetch_add(kStep);
      if (offset >= size) return;
      const uint64_t length = std::min(kStep, size - offset);
      for (const int input : inputs) {
        if (pread(input, buffer.data(), length, static_cast<off_t>(offset)) < 0) Fail("pread");
      }
      if (pwrite(out, buffer.data(), length, static_cast<off_t>(offset)) != static_cast<ssize_t>(length)) Fail("pwrite");
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (sync && fdatasync(out) != 0) Fail("fdatasync");
  return close(out) == 0 ? 0 : 1;
}
