#include "libs/dcp/testing/metadata_builder.h"

#include "libs/base/text.h"

namespace ck::dcp {

using pickle::Form;

MetadataBuilder::MetadataBuilder(const Options& options) : options_(options), names_(graph_.NewDict()), items_(graph_.NewDict()) {
  root_ = options.spelling == Spelling::kMegatron015
              ? NewObject("megatron.core.dist_checkpointing.strategies.torch", "MCoreMetadata")
              : NewCheckpointObject("metadata", "Metadata");
  Set("state_dict_metadata", names_);
  Set("storage_data", items_);
}

MetadataBuilder::Ref MetadataBuilder::NewObject(std::string_view module, std::string_view name) {
  const Ref object = graph_.NewObject(Form::kNewObj, graph_.NewGlobal(module, name), graph_.NewTuple({}));
  graph_.SetState(object, graph_.NewDict());
  return object;
}

MetadataBuilder::Ref MetadataBuilder::NewCheckpointObject(std::string_view submodule, std::string_view name) {
  const std::string_view package =
      options_.spelling == Spelling::kTorch112 ? "torch.distributed._shard.checkpoint." : "torch.distributed.checkpoint.";
  return NewObject(Cat(package, submodule), name);
}

MetadataBuilder::Ref MetadataBuilder::NewInts(const Dims& dims) {
  std::vector<Ref> items;
  for (const uint64_t dim : dims) items.push_back(graph_.NewInt(static_cast<int64_t>(dim)));
  return options_.sizes == SizeForm::kList ? graph_.NewList(items) : graph_.NewTuple(items);
}

MetadataBuilder::Ref MetadataBuilder::NewSize(const Dims& dims) {
  const Ref ints = NewInts(dims);
  if (options_.sizes != SizeForm::kTorchSize) return ints;
  return graph_.NewObject(Form::kReduce, graph_.NewGlobal("torch", "Size"), graph_.NewTuple({ints}));
}

MetadataBuilder::Ref MetadataBuilder::NewProperties(std::string_view dtype) {
  const bool is_old = options_.spelling == Spelling::kTorch20 || options_.spelling == Spelling::kTorch112;
  const std::string_view module =
      is_old ? "torch.distributed._shard.sharded_tensor.metadata" : "torch.distributed.checkpoint.metadata";
  const Ref enum_class = graph_.NewGlobal(module, is_old ? "MEM_FORMAT_ENCODING" : "_MEM_FORMAT_ENCODING");
  Ref format;
  if (options_.enums == EnumForm::kValue) {
    format = graph_.NewObject(Form::kReduce, enum_class, graph_.NewTuple({graph_.NewInt(0)}));
  } else {
    const Ref getattr = graph_.NewGlobal(options_.enums == EnumForm::kGetattr ? "builtins" : "__builtin__", "getattr");
    format = graph_.NewObject(Form::kReduce, getattr, graph_.NewTuple({enum_class, graph_.NewString("TORCH_CONTIGUOUS_FORMAT")}));
  }
  const Ref layout = graph_.NewObject(Form::kReduce, graph_.NewGlobal("torch.serialization", "_get_layout"),
                                      graph_.NewTuple({graph_.NewString("torch.strided")}));
  const Ref properties = NewObject(module, "TensorProperties");
  graph_.SetState(properties, graph_.NewTuple({graph_.NewGlobal("torch", dtype), layout, graph_.NewBool(true), format, graph_.NewBool(true)}));
  return properties;
}

MetadataBuilder::Ref MetadataBuilder::NewChunk(const Box& box) {
  const Ref chunk = NewCheckpointObject("metadata", "ChunkStorageMetadata");
  graph_.SetAttribute(chunk, "offsets", NewSize(box.offset));
  graph_.SetAttribute(chunk, "sizes", NewSize(box.shape));
  return chunk;
}

MetadataBuilder::Ref MetadataBuilder::AddTensor(std::string_view name, std::string_view dtype, const Dims& shape,
                                                const std::vector<Box>& chunks) {
  std::vector<Ref> list;
  for (const Box& chunk : chunks) list.push_back(NewChunk(chunk));
  const Ref tensor = NewCheckpointObject("metadata", "TensorStorageMetadata");
  graph_.SetAttribute(tensor, "properties", NewProperties(dtype));
  graph_.SetAttribute(tensor, "size", NewSize(shape));
  graph_.SetAttribute(tensor, "chunks", graph_.NewList(list));
  graph_.DictSet(names_, name, tensor);
  return tensor;
}

MetadataBuilder::Ref MetadataBuilder::AddObject(std::string_view name) {
  const Ref object = NewCheckpointObject("metadata", "BytesStorageMetadata");
  graph_.DictSet(names_, name, object);
  return object;
}

MetadataBuilder::ItemNodes MetadataBuilder::AddItem(std::string_view name, const std::optional<Dims>& offset, std::string_view file,
                                                    uint64_t item_offset, uint64_t length) {
  const Ref index = NewCheckpointObject("metadata", "MetadataIndex");
  graph_.SetAttribute(index, "fqn", graph_.NewString(name));
  graph_.SetAttribute(index, "index", graph_.NewNone());
  if (offset) graph_.SetAttribute(index, "offset", NewSize(*offset));
  const Ref info = NewCheckpointObject("filesystem", "_StorageInfo");
  graph_.SetAttribute(info, "relative_path", graph_.NewString(file));
  graph_.SetAttribute(info, "offset", graph_.NewInt(static_cast<int64_t>(item_offset)));
  graph_.SetAttribute(info, "length", graph_.NewInt(static_cast<int64_t>(length)));
  graph_.AppendEntry(items_, index, info);
  return {index, info};
}

}  // namespace ck::dcp
