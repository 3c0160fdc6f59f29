#include "libs/pipeline/sidecars.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"

namespace ck::pipeline {
namespace {

using checkpoint::Sidecar;

// Weights and their indexes in one of the forms that model hubs hold beside safetensors. Beside other weights a loader could take them for the model.
bool IsOtherWeights(std::string_view name) {
  static constexpr std::string_view kEndings[] = {".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".pt",   ".pth",    ".ckpt",
                                                  ".gguf",        ".h5",                     ".h5.index.json", ".msgpack", ".onnx", ".onnx_data"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) { return EndsWith(name, ending); });
}

constexpr char kSpecial[] = "neither a file nor a directory, or a link to nothing";
constexpr char kOtherWeights[] = "weights of another file or form";

// Why a sidecar does not go along; "" when it does.
std::string WhyNot(const Sidecar& sidecar, SidecarRule rule, checkpoint::Format format) {
  const std::string& name = sidecar.name;
  if (format == checkpoint::Format::kSafetensors && !sidecar.directory && IsOtherWeights(name)) return kOtherWeights;
  if (name == "integrity.json") return "its hashes are of other files";
  if (name == "ck-plan.json") return "the result gets its own";
  if (EndsWith(name, ".distcp")) return "the metadata does not refer to it";
  if (EndsWith(name, ".tmp") || EndsWith(name, ".bck")) return "a leftover of a write";
  if (StartsWith(name, ".")) return "hidden";
  if (sidecar.special) return kSpecial;
  if (rule == SidecarRule::kChanged && EndsWith(name, "train_state.pt")) return "it records the progress of the source's run";
  return "";
}

// Opened once here, so that a file that cannot be read stops the run before anything is written.
void AddFile(const std::string& name, const std::string& path, uint64_t size_bytes, transform::View& view) {
  fs::InputFile::Open(path);
  view.sidecars.push_back({.name = name, .source_path = path, .bytes = size_bytes});
}

// All files below a folder. A stack of folders instead of recursion; links are followed by Stat, and the depth limit ends a cycle.
void AddFolder(const std::string& path, const std::string& name, transform::View& view) {
  struct Folder {
    std::string path, name;
    size_t depth;
  };
  std::vector<Folder> open = {{path, name, 1}};
  while (!open.empty()) {
    const Folder folder = std::move(open.back());
    open.pop_back();
    if (folder.depth > kMaxSidecarDepth) throw InputError("pipeline.sidecar_limit", Cat(folder.path, ": folders nest deeper than ", kMaxSidecarDepth));
    for (const fs::Entry& entry : fs::ListDirectory(folder.path)) {
      const std::string entry_path = fs::JoinPath(folder.path, entry.name), entry_name = Cat(folder.name, '/', entry.name);
      if (entry.info.type == fs::FileType::kDirectory) {
        open.push_back({entry_path, entry_name, folder.depth + 1});
      } else if (view.format == checkpoint::Format::kSafetensors && IsOtherWeights(entry.name)) {
        view.notes.push_back(Cat("left out: ", Quote(entry_name), " (", kOtherWeights, ")"));
      } else if (entry.info.type == fs::FileType::kFile) {
        AddFile(entry_name, entry_path, entry.info.size_bytes, view);
      } else {
        view.notes.push_back(Cat("left out: ", Quote(entry_name), " (", kSpecial, ")"));
      }
      if (view.sidecars.size() > kMaxSidecarFiles) throw InputError("pipeline.sidecar_limit", Cat(path, ": more than ", kMaxSidecarFiles, " files beside the data"));
    }
  }
}

void RefuseModelopt(const Sidecar& sidecar, const std::string& path) {
  if (sidecar.name != "modelopt_state") return;
  throw InputError("pipeline.modelopt_state", Cat(path, ": a ModelOpt checkpoint holds quantised weights, which ck does not read or write"));
}

void AddOne(const Sidecar& sidecar, const std::string& path, SidecarRule rule, transform::View& view) {
  const std::string why_not = WhyNot(sidecar, rule, view.format);
  if (!why_not.empty()) {
    view.notes.push_back(Cat("left out: ", Quote(sidecar.name), " (", why_not, ")"));
  } else if (sidecar.directory) {
    AddFolder(path, sidecar.name, view);
  } else {
    AddFile(sidecar.name, path, sidecar.size_bytes, view);
  }
}

void Sort(transform::View& view) {
  std::sort(view.sidecars.begin(), view.sidecars.end(),
            [](const transform::SidecarFile& a, const transform::SidecarFile& b) { return a.name < b.name; });
}

}  // namespace

void AddSidecars(const checkpoint::Checkpoint& source, SidecarRule rule, transform::View& view) {
  for (const Sidecar& sidecar : source.sidecars()) {
    const std::string path = fs::JoinPath(source.path(), sidecar.name);
    RefuseModelopt(sidecar, path);
    AddOne(sidecar, path, rule, view);
  }
  Sort(view);
}

void AddModelFiles(const checkpoint::Checkpoint& source, const std::optional<std::string>& directory, transform::View& view) {
  for (const Sidecar& sidecar : source.sidecars()) {
    RefuseModelopt(sidecar, fs::JoinPath(source.path(), sidecar.name));
    view.notes.push_back(Cat("left out: ", Quote(sidecar.name), " (it lies beside the Megatron checkpoint; side files of the model come from --config)"));
  }
  const auto info = directory ? fs::Stat(*directory) : std::nullopt;
  if (!info || info->type != fs::FileType::kDirectory) return;
  for (const fs::Entry& entry : fs::ListDirectory(*directory)) {
    if (entry.name == "config.json" || entry.vanished) continue;  // written anew
    const bool is_directory = entry.info.type == fs::FileType::kDirectory;
    AddOne({.name = entry.name, .directory = is_directory, .size_bytes = is_directory ? 0 : entry.info.size_bytes}, fs::JoinPath(*directory, entry.name), SidecarRule::kCopy, view);
  }
  Sort(view);
}

void AddHuggingFaceFiles(const checkpoint::Checkpoint& source, const std::optional<std::string>& directory, transform::View& view) {
  const auto info = directory ? fs::Stat(*directory) : std::nullopt;
  const std::string from = info && info->type == fs::FileType::kDirectory ? *directory : source.path();
  for (const fs::Entry& entry : fs::ListDirectory(from)) {
    const bool is_directory = entry.info.type == fs::FileType::kDirectory;
    const bool is_model = EndsWith(entry.name, ".safetensors") || EndsWith(entry.name, ".safetensors.index.json");
    if (entry.vanished || is_model || (!is_directory && entry.info.type != fs::FileType::kFile)) continue;
    const Sidecar sidecar{.name = entry.name, .directory = is_directory, .size_bytes = is_directory ? 0 : entry.info.size_bytes};
    const std::string path = fs::JoinPath(from, entry.name), name = Cat("huggingface/", entry.name);
    RefuseModelopt(sidecar, path);
    const std::string why_not = !is_directory && IsOtherWeights(entry.name) ? kOtherWeights : WhyNot(sidecar, SidecarRule::kCopy, view.format);
    if (!why_not.empty()) {
      view.notes.push_back(Cat("left out: ", Quote(entry.name), " (", why_not, ")"));
    } else if (is_directory) {
      AddFolder(path, name, view);
    } else {
      view.sidecars.push_back({.name = name, .source_path = path, .bytes = sidecar.size_bytes});
    }
  }
  Sort(view);
}

}  // namespace ck::pipeline
