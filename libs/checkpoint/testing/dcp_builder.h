// Small DCP directories with real items, for tests that change one thing. Testonly.
//
//   DcpBuilder builder;
//   builder.AddTensor("w", DType::kF32, {2, 3}, data, "__0_0.distcp");
//   builder.Save(directory / "iter_0000010");
#ifndef CK_CHECKPOINT_TESTING_DCP_BUILDER_H_
#define CK_CHECKPOINT_TESTING_DCP_BUILDER_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "libs/checksum/crc32.h"
#include "libs/dcp/metadata.h"
#include "libs/pickle/graph.h"
#include "libs/torchsave/write.h"

namespace ck::checkpoint {

class DcpBuilder {
 public:
  // A tensor of one chunk.
  void AddTensor(const std::string& name, DType dtype, const Dims& shape, const std::string& data,
                 const std::string& file) {
    const torchsave::TensorItemLayout layout = torchsave::LayOutTensorItem(dtype, shape);
    const dcp::Item item = AddItem(layout.head + data + layout.Tail(Crc32(data)), file);
    metadata.tensors.push_back({.name = name, .dtype = dtype, .shape = shape, .chunks = {{Box::Whole(shape), item}}});
  }
  void AddObject(const std::string& name, const std::string& bytes, const std::string& file) {
    metadata.objects.push_back({.name = name, .item = AddItem(bytes, file)});
  }
  // The bytes of an item, for chunks and objects that a test puts into `metadata` itself.
  dcp::Item AddItem(const std::string& bytes, const std::string& file) {
    const auto at = std::find(metadata.files.begin(), metadata.files.end(), file);
    const auto number = static_cast<uint32_t>(at - metadata.files.begin());
    if (at == metadata.files.end()) metadata.files.push_back(file);
    std::string& content = files_[file];
    const dcp::Item item{.file = number, .offset = content.size(), .length = bytes.size()};
    content += bytes;
    return item;
  }
  void Save(const std::string& directory) {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(metadata.tensors.begin(), metadata.tensors.end(), by_name);
    std::sort(metadata.objects.begin(), metadata.objects.end(), by_name);
    std::filesystem::create_directories(directory);
    for (const auto& [name, bytes] : files_) std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
    std::ofstream(directory + "/.metadata", std::ios::binary) << dcp::EncodeMetadata(metadata);
  }

  dcp::Metadata metadata;  // may be changed before Save

 private:
  std::map<std::string, std::string> files_;
};

// torch.save of a dict {"iteration": iteration}, in a list as the embedded common state is, or bare as in common.pt.
enum class InList { kNo, kYes };
inline std::string SavedIteration(int64_t iteration, InList in_list) {
  pickle::Graph graph;
  pickle::Ref root = graph.NewDict();
  graph.DictSet(root, "iteration", graph.NewInt(iteration));
  if (in_list == InList::kYes) root = graph.NewList({root});
  return torchsave::WriteObject(graph, root, "archive", {});
}

// torch.save of argparse.Namespace(ckpt_format=format).
inline std::string SavedArgs(const std::string& format) {
  pickle::Graph graph;
  const pickle::Ref type = graph.NewGlobal("argparse", "Namespace");
  const pickle::Ref args = graph.NewObject(pickle::Form::kNewObj, type, graph.NewTuple({}));
  graph.SetAttribute(args, "ckpt_format", graph.NewString(format));
  return torchsave::WriteObject(graph, args, "archive", {});
}

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_TESTING_DCP_BUILDER_H_
