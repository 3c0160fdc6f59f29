// A training run's directory for tests of discovery: the names that the writers leave behind, without contents.
#ifndef CK_CHECKPOINT_TESTING_RUN_DIRECTORY_H_
#define CK_CHECKPOINT_TESTING_RUN_DIRECTORY_H_

#include <filesystem>
#include <string>

#include "libs/fs/test_directory.h"

namespace ck::checkpoint {

inline constexpr char kTorchDistJson[] = R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})";

class RunDirectory : public fs::TestDirectory {
 public:
  // What Megatron-Core writes, in its order: data, .metadata, common.pt, metadata.json.
  void AddTorchDist(const std::string& name) const {
    AddUnfinished(name);
    Write(name + "/metadata.json", kTorchDistJson);
  }
  // The same, stopped before the last file.
  void AddUnfinished(const std::string& name) const {
    Write(name + "/__0_0.distcp", "data");
    Write(name + "/.metadata", "m");
    Write(name + "/common.pt", "c");
  }
  // fsdp_dtensor and plain DCP have the same names.
  void AddDcp(const std::string& name) const {
    Write(name + "/__0_0.distcp", "data");
    Write(name + "/.metadata", "m");
  }
  void AddEmpty(const std::string& name) const { std::filesystem::create_directories(*this / name); }
  void SetMarker(const std::string& content) const { Write("latest_checkpointed_iteration.txt", content); }
};

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_TESTING_RUN_DIRECTORY_H_
