// Writes small checkpoints for tests, entry by entry: well-formed ones, and ones that a check must refuse.
//
//   TinyCheckpoint a(directory / "iter_0000010");
//   a.Tensor("decoder.weight", DType::kBF16, {4, 6}).Object("decoder._extra_state", "bytes").CommonPt(10);
//   auto opened = a.Open();
#ifndef CK_CHECKPOINT_TESTING_TINY_CHECKPOINT_H_
#define CK_CHECKPOINT_TESTING_TINY_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/dcp/metadata.h"
#include "libs/pickle/graph.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::checkpoint {

class TinyCheckpoint {
 public:
  // `directory` is made by Open. The one data file is __0_0.distcp.
  explicit TinyCheckpoint(std::string directory);

  // A tensor in one chunk, or in the given ones. Byte i of a chunk is i + `fill`, so chunks differ from one another in their places alone.
  TinyCheckpoint& Tensor(const std::string& name, DType dtype, const Dims& shape, const std::vector<Box>& chunks = {}, uint8_t fill = 0);
  // A byte object whose item holds the pickled bytes `value`.
  TinyCheckpoint& Object(const std::string& name, const std::string& value);
  // A byte object of any graph.
  TinyCheckpoint& GraphObject(const std::string& name, const pickle::Graph& graph, pickle::Ref root);
  // common.pt, the embedded common state, or both; {"iteration": n, "args": Namespace(iteration=n)}, without iterations for nullopt.
  TinyCheckpoint& CommonPt(std::optional<int64_t> iteration);
  TinyCheckpoint& EmbeddedCommon(std::optional<int64_t> iteration);
  // Any other file.
  TinyCheckpoint& File(const std::string& name, const std::string& content);
  // fsdp_dtensor and plain DCP have no metadata.json.
  TinyCheckpoint& WithoutMetadataJson();

  // Writes everything and opens it.
  std::shared_ptr<const Checkpoint> Open();

  const std::string& path() const { return directory_; }
  dcp::Metadata& metadata() { return builder_.metadata; }

 private:
  std::string directory_;
  DcpBuilder builder_;
  std::map<std::string, std::string> files_;  // beside the data
};

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_TESTING_TINY_CHECKPOINT_H_
