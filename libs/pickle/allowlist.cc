#include "libs/pickle/allowlist.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "libs/base/text.h"
#include "libs/pickle/torch_objects.h"
#include "libs/tensor/dtype.h"

namespace ck::pickle {
namespace {

struct Names {
  std::string_view module;
  std::string_view names;  // between blanks, also at both ends
};

constexpr Names kKnown[] = {
    // DCP metadata. Before torch 2.0 the package was torch.distributed._shard.checkpoint.
    {"torch.distributed.checkpoint.metadata",
     " Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata MetadataIndex TensorProperties "
     "_MEM_FORMAT_ENCODING "
     "StorageMeta "},
    {"torch.distributed.checkpoint.filesystem", " _StorageInfo _StoragePrefix "},
    {"torch.distributed.checkpoint.planner", " SavePlan WriteItem WriteItemType TensorWriteData BytesIOWriteData "},
    {"torch.distributed._shard.checkpoint.metadata",
     " Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata MetadataIndex TensorProperties "
     "_MEM_FORMAT_ENCODING "
     "StorageMeta "},
    {"torch.distributed._shard.checkpoint.filesystem", " _StorageInfo _StoragePrefix "},
    {"torch.distributed._shard.checkpoint.planner",
     " SavePlan WriteItem WriteItemType TensorWriteData BytesIOWriteData "},
    {"torch.distributed._shard.sharded_tensor.metadata", " TensorProperties MEM_FORMAT_ENCODING "},
    {"megatron.core.dist_checkpointing.strategies.torch", " MCoreMetadata MCoreSavePlan "},
    {"pathlib", " PosixPath PurePosixPath WindowsPath PureWindowsPath "},
    {"pathlib._local", " PosixPath PurePosixPath WindowsPath PureWindowsPath "},
    // What the weights-only loader of PyTorch knows by itself. Types that ck has no name for stand here, the others are
    // in DType.
    {"torch",
     " Size Tensor device quint8 qint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 bcomplex32 "
     "QInt8Storage QInt32Storage "
     "QUInt8Storage QUInt4x2Storage QUInt2x4Storage "},
    {"torch._utils",
     " _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter _rebuild_parameter_with_state "
     "_rebuild_meta_tensor_no_storage _rebuild_device_tensor_from_numpy _rebuild_device_tensor_from_cpu_tensor "
     "_rebuild_wrapper_subclass _rebuild_sparse_tensor _rebuild_nested_tensor _rebuild_qtensor "},
    {"torch._tensor", " _rebuild_from_type_v2 "},
    {"torch.tensor", " _rebuild_from_type_v2 "},
    {"torch.nn.parameter", " Parameter "},
    {"torch.serialization", " _get_layout "},
    {"torch.storage", " UntypedStorage TypedStorage _load_from_bytes "},
    {"collections", " OrderedDict Counter "},
    {"_codecs", " encode "},
    {"builtins", " bool bytearray bytes complex dict float frozenset int list set str tuple "},
    {"__builtin__", " bool bytearray bytes complex dict float frozenset int list long object set str tuple "},
    // What Megatron-Core registers as safe.
    {"types", " SimpleNamespace "},
    {"argparse", " Namespace "},
    {"signal", " Signals "},
    {"_io", " BytesIO "},
    {"numpy._core.multiarray", " _reconstruct "},
    {"numpy.core.multiarray", " _reconstruct "},
    {"numpy", " ndarray dtype "},
    {"numpy.dtypes", " UInt32DType "},
    {"torch._C", " Generator "},
    {"megatron.core.transformer.enums", " AttnBackend CudaGraphModule CudaGraphScope InferenceCudaGraphScope "},
    {"megatron.core.enums", " ModelType "},
    {"megatron.core.optimizer.optimizer_config", " OptimizerConfig "},
    {"megatron.core.rerun_state_machine", " RerunDiagnostic RerunMode RerunState "},
    {"transformer_engine.common.recipe",
     " DelayedScaling Float8CurrentScaling Float8BlockScaling MXFP8BlockScaling NVFP4BlockScaling Format "
     "_FormatHelper MMParams QParams "},
};

// Enumerations among them; Python 3.11.2 writes a member as getattr(Class, 'NAME').
constexpr Names kEnumMembers[] = {
    {"torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
     " TORCH_CONTIGUOUS_FORMAT TORCH_CHANNELS_LAST TORCH_PRESERVE_FORMAT "},
    {"torch.distributed._shard.sharded_tensor.metadata.MEM_FORMAT_ENCODING",
     " TORCH_CONTIGUOUS_FORMAT TORCH_CHANNELS_LAST TORCH_PRESERVE_FORMAT "},
    {"torch.distributed.checkpoint.planner.WriteItemType", " TENSOR SHARD BYTE_IO "},
    {"megatron.core.transformer.enums.AttnBackend", " flash fused unfused local auto "},
    {"megatron.core.transformer.enums.CudaGraphModule", " attn mlp moe moe_router moe_preprocess mamba "},
    {"megatron.core.transformer.enums.CudaGraphScope",
     " full_iteration attn mlp moe moe_router moe_preprocess mamba full_iteration_inference "},
    {"megatron.core.transformer.enums.InferenceCudaGraphScope", " none layer block "},
    {"megatron.core.enums.ModelType", " encoder_or_decoder "},
    {"megatron.core.rerun_state_machine.RerunState",
     " NOT_RUNNING_YET INITIAL_RUN RERUNNING_IN_PLACE WILL_RERUN_FROM_CHECKPOINT RERUNNING_FROM_CHECKPOINT "
     "RERUNNING_AGAIN_FROM_CHECKPOINT "},
    {"megatron.core.rerun_state_machine.RerunMode", " DISABLED VALIDATE_RESULTS REPORT_DETERMINISM_STATS "},
    {"megatron.core.rerun_state_machine.RerunDiagnostic", " CORRECT_RESULT TRANSIENT_ERROR PERSISTENT_ERROR "},
    {"signal.Signals", " SIGTERM SIGINT SIGUSR1 SIGUSR2 SIGHUP "},
};

bool Lists(std::span<const Names> table, std::string_view module, std::string_view name) {
  if (name.find(' ') != std::string_view::npos) return false;
  const std::string word = Cat(" ", name, " ");
  for (const Names& row : table) {
    if (row.module == module && row.names.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool IsKnownMember(const Graph& graph, Ref call) {
  const std::optional<EnumValue> member = AsEnum(graph, call);
  return member && member->value == kNoRef &&
         Lists(kEnumMembers, Cat(member->module, ".", member->name), member->member);
}

}  // namespace

bool IsKnownGlobal(std::string_view module, std::string_view name) {
  if (module == "torch" && (DTypeFromTorchName(name) || DTypeFromTorchStorageName(name))) return true;
  if (module == "torch.cuda" && DTypeFromTorchStorageName(name)) return true;
  return Lists(kKnown, module, name);
}

std::vector<GlobalUse> ListGlobals(const Graph& graph) {
  using Key = std::pair<std::string_view, std::string_view>;
  std::map<Key, GlobalUse> uses;
  const auto key_of = [&](Ref global) { return Key{graph.module(global), graph.name(global)}; };
  const auto use_of = [&](Ref global) -> GlobalUse& { return uses[key_of(global)]; };
  bool only_known_members = true;  // of the calls of getattr
  for (Ref ref = 0; ref < graph.size(); ++ref) {
    if (graph.kind(ref) == Kind::kGlobal) ++use_of(ref).count;
    if (graph.kind(ref) != Kind::kObject || graph.kind(graph.callable(ref)) != Kind::kGlobal) continue;
    use_of(graph.callable(ref)).called = true;
    if (IsBuiltinCall(graph, ref, "getattr") && !IsKnownMember(graph, ref)) only_known_members = false;
  }
  std::vector<GlobalUse> out;
  for (auto& [key, use] : uses) {
    const auto& [module, name] = key;
    use.module = module;
    use.name = name;
    const bool is_getattr = name == "getattr" && (module == "builtins" || module == "__builtin__");
    use.known = is_getattr ? use.called && only_known_members : IsKnownGlobal(module, name);
    out.push_back(std::move(use));
  }
  return out;
}

}  // namespace ck::pickle
