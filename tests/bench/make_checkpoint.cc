// usage: make_checkpoint DIR SEED COUNT ELEMENTS [CHUNKS]
//
// Writes a torch_dist checkpoint for scripts/bench: COUNT bf16 tensors `decoder.layers.<n>.mlp.linear_fc1.weight` of [CHUNKS, ELEMENTS / CHUNKS], each cut into CHUNKS
// chunks along dimension 0, with values around 1 that depend on the seed. It writes with plain system calls: it is no part of the product.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "libs/base/text.h"
#include "libs/checksum/crc32.h"
#include "libs/dcp/metadata.h"
#include "libs/torchsave/write.h"

namespace {

void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void WriteAll(int fd, const std::string& data) {
  for (size_t done = 0; done < data.size();) {
    const ssize_t n = write(fd, data.data() + done, data.size() - done);
    if (n < 0) Fail("write");
    done += static_cast<size_t>(n);
  }
}

void WriteFile(const std::string& path, const std::string& data) {
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  if (fd < 0) Fail(path.c_str());
  WriteAll(fd, data);
  if (fdatasync(fd) != 0 || close(fd) != 0) Fail(path.c_str());
}

// bf16 numbers between 0.5 and 2.
void FillWeights(uint64_t& state, std::string& out) {
  for (size_t i = 0; i + 1 < out.size(); i += 2) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<uint16_t>(0x3F00 + (state >> 56));
    out[i] = static_cast<char>(bits & 0xFF);
    out[i + 1] = static_cast<char>(bits >> 8);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: make_checkpoint DIR SEED COUNT ELEMENTS [CHUNKS]\n");
    return 2;
  }
  const std::string directory = argv[1];
  uint64_t state = *ck::ParseUint64(argv[2]);
  const uint64_t count = *ck::ParseUint64(argv[3]), elements = *ck::ParseUint64(argv[4]);
  const uint64_t chunks = argc > 5 ? *ck::ParseUint64(argv[5]) : 1, row = elements / chunks;
  if (mkdir(directory.c_str(), 0777) != 0) Fail(directory.c_str());
  const int fd = open((directory + "/__0_0.distcp").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  if (fd < 0) Fail("__0_0.distcp");
  ck::dcp::Metadata metadata;
  metadata.files = {"__0_0.distcp"};
  uint64_t offset = 0;
  std::string data(row * 2, '\0');
  const auto layout = ck::torchsave::LayOutTensorItem(ck::DType::kBF16, {1, row});
  for (uint64_t n = 0; n < count; ++n) {
    std::string number = ck::Cat(n);
    number.insert(0, 6 - number.size(), '0');
    ck::dcp::Tensor tensor{.name = ck::Cat("decoder.layers.", number, ".mlp.linear_fc1.weight"), .dtype = ck::DType::kBF16, .shape = {chunks, row}, .chunks = {}};
    for (uint64_t c = 0; c < chunks; ++c) {
      FillWeights(state, data);
      WriteAll(fd, layout.head);
      WriteAll(fd, data);
      WriteAll(fd, layout.Tail(ck::Crc32(data)));
      tensor.chunks.push_back({.box = {{c, 0}, {1, row}}, .item = {.file = 0, .offset = offset, .length = layout.total_bytes}});
      offset += layout.total_bytes;
    }
    metadata.tensors.push_back(std::move(tensor));
  }
  if (fdatasync(fd) != 0 || close(fd) != 0) Fail("__0_0.distcp");
  WriteFile(directory + "/.metadata", ck::dcp::EncodeMetadata(metadata));
  WriteFile(directory + "/metadata.json", R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})");
  return 0;
}
