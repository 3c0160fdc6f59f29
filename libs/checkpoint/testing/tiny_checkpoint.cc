#include "libs/checkpoint/testing/tiny_checkpoint.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "libs/base/error.h"
#include "libs/checkpoint/common_state.h"
#include "libs/checksum/crc32.h"
#include "libs/torchsave/write.h"

namespace ck::checkpoint {
namespace {

constexpr char kDataFile[] = "__0_0.distcp";
constexpr char kMetadataJson[] = R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1})";

std::string NoStorages(const std::string&) { throw InternalError("test.no_storages", "the graph names no storages"); }

std::string ItemOf(const pickle::Graph& graph, pickle::Ref root, const char* root_name) {
  return torchsave::WriteObject(graph, root, root_name, NoStorages);
}

pickle::Ref CommonDict(pickle::Graph& graph, std::optional<int64_t> iteration) {
  const pickle::Ref dict = graph.NewDict();
  const pickle::Ref args = graph.NewObject(pickle::Form::kNewObj, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
  graph.SetAttribute(args, "hidden_size", graph.NewInt(16));
  if (iteration) {
    graph.DictSet(dict, "iteration", graph.NewInt(*iteration));
    graph.SetAttribute(args, "iteration", graph.NewInt(*iteration));
  }
  graph.DictSet(dict, "args", args);
  return dict;
}

void WriteFile(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TinyCheckpoint::TinyCheckpoint(std::string directory) : directory_(std::move(directory)) {
  files_["metadata.json"] = kMetadataJson;
}

TinyCheckpoint& TinyCheckpoint::Tensor(const std::string& name, DType dtype, const Dims& shape, const std::vector<Box>& chunks, uint8_t fill) {
  dcp::Tensor tensor{.name = name, .dtype = dtype, .shape = shape, .chunks = {}};
  for (const Box& box : chunks.empty() ? std::vector<Box>{Box::Whole(shape)} : chunks) {
    const torchsave::TensorItemLayout layout = torchsave::LayOutTensorItem(dtype, box.shape);
    std::string data;
    for (uint64_t i = 0; i < layout.data_bytes; ++i) data += static_cast<char>(static_cast<uint8_t>(i + fill));
    tensor.chunks.push_back({.box = box, .item = builder_.AddItem(layout.head + data + layout.Tail(Crc32(data)), kDataFile)});
  }
  builder_.metadata.tensors.push_back(std::move(tensor));
  return *this;
}

TinyCheckpoint& TinyCheckpoint::Object(const std::string& name, const std::string& value) {
  pickle::Graph graph;
  const pickle::Ref root = graph.NewBytes(value);
  return GraphObject(name, graph, root);
}

TinyCheckpoint& TinyCheckpoint::GraphObject(const std::string& name, const pickle::Graph& graph, pickle::Ref root) {
  builder_.AddObject(name, ItemOf(graph, root, "archive"), kDataFile);
  return *this;
}

TinyCheckpoint& TinyCheckpoint::CommonPt(std::optional<int64_t> iteration) {
  pickle::Graph graph;
  const pickle::Ref dict = CommonDict(graph, iteration);
  return File(std::string(kCommonFile), ItemOf(graph, dict, "common"));
}

TinyCheckpoint& TinyCheckpoint::EmbeddedCommon(std::optional<int64_t> iteration) {
  pickle::Graph graph;
  const pickle::Ref dict = CommonDict(graph, iteration);
  return GraphObject(std::string(kEmbeddedCommonKey), graph, graph.NewList({dict}));
}

TinyCheckpoint& TinyCheckpoint::File(const std::string& name, const std::string& content) {
  files_[name] = content;
  return *this;
}

TinyCheckpoint& TinyCheckpoint::WithoutMetadataJson() {
  files_.erase("metadata.json");
  return *this;
}

std::shared_ptr<const Checkpoint> TinyCheckpoint::Open() {
  builder_.Save(directory_);
  for (const auto& [name, content] : files_) WriteFile(std::filesystem::path(directory_) / name, content);
  return Checkpoint::Open(directory_);
}

}  // namespace ck::checkpoint
