#include "tools/ck-meta/from_checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/checkpoint/data_files.h"
#include "libs/checkpoint/discover.h"
#include "libs/fs/read.h"
#include "libs/pickle/allowlist.h"
#include "libs/tensor/dtype.h"
#include "libs/torchsave/read.h"

namespace ck::meta {
namespace {

using checkpoint::Checkpoint;

constexpr size_t kMaxNamedClasses = 5;

plan::MetaChunk ToChunk(const Checkpoint& from, const dcp::Chunk& chunk) {
  const auto& files = from.metadata().files;
  plan::MetaChunk out{.offset = chunk.box.offset, .shape = chunk.box.shape, .file = {}};
  if (chunk.item.length > 0) out.file = files[chunk.item.file];
  return out;
}

plan::MetaTensor ToTensor(const Checkpoint& from, const dcp::Tensor& tensor, ChunkLists chunk_lists) {
  plan::MetaTensor out{.name = tensor.name, .dtype = std::string(Name(tensor.dtype)), .shape = tensor.shape};
  out.bytes = CheckedMul(Volume(tensor.shape).value_or(UINT64_MAX), ElementSize(tensor.dtype)).value_or(UINT64_MAX);
  out.chunks = tensor.chunks.size();
  if (chunk_lists == ChunkLists::kYes) {
    out.chunk_list.emplace();
    for (const dcp::Chunk& chunk : tensor.chunks) out.chunk_list->push_back(ToChunk(from, chunk));
  }
  return out;
}

File::Kind KindOf(const Checkpoint& from, const std::string& name) {
  if (name == checkpoint::kCommonFile) return File::Kind::kCommonState;
  if (name == "metadata.json" || EndsWith(name, ".metadata") || EndsWith(name, ".index.json"))
    return File::Kind::kMetadata;
  const auto& data = from.metadata().files;  // sorted
  return std::binary_search(data.begin(), data.end(), name) ? File::Kind::kData : File::Kind::kSidecar;
}

void AddFiles(const Checkpoint& from, Contents& out) {
  for (const fs::Entry& entry : fs::ListDirectory(from.path())) {
    if (entry.vanished) continue;
    const bool directory = entry.info.type == fs::FileType::kDirectory;
    out.files.push_back({.name = directory ? entry.name + "/" : entry.name,
                         .size_bytes = directory ? 0 : entry.info.size_bytes,
                         .kind = KindOf(from, entry.name)});
  }
  for (const checkpoint::DataFile& file : from.files()) {
    if (!file.size_bytes) out.files.push_back({.name = file.name, .size_bytes = {}, .kind = File::Kind::kData});
  }
  std::sort(out.files.begin(), out.files.end(), [](const File& a, const File& b) { return a.name < b.name; });
}

void WarnAboutFiles(const Checkpoint& from, cli::Diagnostics& diagnostics) {
  const checkpoint::FileCheck check = checkpoint::CheckDataFiles(from);
  if (check.problems.empty()) return;
  const bool missing = std::any_of(check.problems.begin(), check.problems.end(),
                                   [](const checkpoint::FileProblem& problem) { return !problem.size_bytes; });
  diagnostics.Warn(missing ? "checkpoint.missing_file" : "checkpoint.short_file", checkpoint::Describe(check, from));
}

void WarnAboutState(const std::string& path, cli::Diagnostics& diagnostics) {
  const checkpoint::Listing listing = checkpoint::ListRoot(path, checkpoint::Depth::kNames);
  if (!listing.is_checkpoint || listing.checkpoints[0].complete()) return;
  const Error error = checkpoint::NotUsable(listing.checkpoints[0]);
  diagnostics.Warn(error.id(), error.message());
}

void WarnAboutClasses(std::string_view where, const std::vector<std::string>& names, cli::Diagnostics& diagnostics) {
  if (names.empty()) return;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMaxNamedClasses) break;
    shown.push_back(Quote(name));
  }
  if (shown.size() < names.size()) shown.push_back("...");
  diagnostics.Warn("meta.unknown_class", Cat(where, " names ", names.size(), names.size() == 1 ? " class" : " classes",
                                             " that ck does not know and did not run (--show-globals lists all): ",
                                             Join(shown, ", ")));
}

void WarnAboutMetadata(const Checkpoint& from, cli::Diagnostics& diagnostics) {
  const dcp::Metadata& metadata = from.metadata();
  for (const std::string& note : metadata.notes) diagnostics.Warn("meta.odd_metadata", note);
  WarnAboutClasses("the metadata", metadata.unknown_globals, diagnostics);
}

std::optional<int64_t> EmbeddedIteration(const Checkpoint& from) {
  const dcp::Object* object = from.FindObject(checkpoint::kEmbeddedCommonKey);
  const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(from.ReadObject(*object)));
  const pickle::Graph& graph = saved.graph;
  if (graph.kind(saved.root) != pickle::Kind::kList || graph.items(saved.root).size() != 1) return std::nullopt;
  const pickle::Ref ref = graph.Find(graph.items(saved.root)[0], "iteration");
  if (ref == pickle::kNoRef || graph.kind(ref) != pickle::Kind::kInt) return std::nullopt;
  return graph.AsInt(ref);
}

std::string Describe(const std::optional<int64_t>& iteration) { return iteration ? Cat(*iteration) : "none"; }

void WarnAboutBothForms(const Checkpoint& from, const checkpoint::CommonState& common, cli::Diagnostics& diagnostics) {
  std::string embedded;
  try {
    embedded = Cat("iteration ", Describe(EmbeddedIteration(from)));
  } catch (const Error& error) {
    embedded = Cat("which cannot be read: ", error.message());
  }
  diagnostics.Warn("common.both_forms",
                   Cat("the common state is there twice: common.pt (iteration ", Describe(common.iteration()), ") and ",
                       checkpoint::kEmbeddedCommonKey, " (", embedded,
                       "); common.pt is shown, it is the one that Megatron loads"));
}

plan::CommonForm ToForm(checkpoint::CommonForm form) {
  switch (form) {
    case checkpoint::CommonForm::kCommonPt: return plan::CommonForm::kCommonPt;
    case checkpoint::CommonForm::kEmbedded: return plan::CommonForm::kEmbedded;
    case checkpoint::CommonForm::kNone: break;
  }
  return plan::CommonForm::kNone;
}

// Where the common state is, whatever state it is in.
plan::CommonForm FormOf(const Checkpoint& from, const std::vector<File>& files) {
  const auto is_common = [](const File& file) { return file.kind == File::Kind::kCommonState; };
  if (std::any_of(files.begin(), files.end(), is_common)) return plan::CommonForm::kCommonPt;
  return from.FindObject(checkpoint::kEmbeddedCommonKey) ? plan::CommonForm::kEmbedded : plan::CommonForm::kNone;
}

void AddCommon(const Checkpoint& from, Contents& out, cli::Diagnostics& diagnostics) {
  try {
    checkpoint::CommonState common = checkpoint::ReadCommonState(from);
    out.meta.common_form = ToForm(common.form);
    if (common.both_forms) WarnAboutBothForms(from, common, diagnostics);
    if (common.form == checkpoint::CommonForm::kNone) return;
    out.common = State{.graph = std::move(common.object.graph), .root = common.dict};
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) throw;
    out.meta.common_form = FormOf(from, out.files);
    diagnostics.Warn(error.id(), Cat("the common state cannot be read, all else is listed: ", error.message()));
    return;
  }
  std::vector<std::string> unknown;
  for (const pickle::GlobalUse& use : pickle::ListGlobals(out.common->graph)) {
    if (!use.known) unknown.push_back(Cat(use.module, ".", use.name));
  }
  WarnAboutClasses("the common state", unknown, diagnostics);
}

// fsdp_dtensor keeps it as an object of its own.
std::optional<int64_t> LooseIteration(const Checkpoint& from, const Contents& contents) {
  if (!from.FindObject("iteration")) return std::nullopt;
  try {
    const State state = ReadState(contents, "iteration");
    if (state.graph.kind(state.root) != pickle::Kind::kInt || state.graph.AsInt(state.root) < 0) return std::nullopt;
    return state.graph.AsInt(state.root);
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) throw;
    return std::nullopt;  // the list of objects shows what is wrong with it
  }
}

void SetIteration(const Checkpoint& from, Contents& out, cli::Diagnostics& diagnostics) {
  const checkpoint::Iteration& named = from.iteration();
  auto stored = IterationOf(out.common);
  if (!stored) stored = LooseIteration(from, out);
  if (named.number) {
    out.meta.iteration = static_cast<int64_t>(*named.number);
    if (stored && stored != out.meta.iteration) {
      diagnostics.Warn("meta.iteration_differs", Cat("the directory's name says iteration ", *out.meta.iteration,
                                                     ", the saved state ", *stored));
    }
  } else if (!named.release) {
    out.meta.iteration = stored;
  }
}

}  // namespace

Contents FromCheckpoint(const std::string& path, ChunkLists chunk_lists, cli::Diagnostics& diagnostics) {
  const checkpoint::Resolved resolved = checkpoint::Resolve(path, checkpoint::Require::kAny);
  if (!resolved.note.empty()) diagnostics.Note(resolved.note);
  const std::shared_ptr<const Checkpoint> from = Checkpoint::Open(resolved.path);
  WarnAboutState(resolved.path, diagnostics);
  WarnAboutFiles(*from, diagnostics);
  WarnAboutMetadata(*from, diagnostics);
  Contents out;
  out.meta.path = from->path();
  out.meta.format = Name(from->format());
  for (const dcp::Tensor& tensor : from->tensors()) out.meta.tensors.push_back(ToTensor(*from, tensor, chunk_lists));
  for (const dcp::Object& object : from->objects()) {
    out.meta.objects.push_back(
        {.name = object.name, .bytes = object.item.length, .file = from->metadata().files[object.item.file]});
  }
  out.unknown_globals = from->metadata().unknown_globals;
  out.read_object = [from](const std::string& name) { return from->ReadObject(*from->FindObject(name)); };
  AddFiles(*from, out);
  AddCommon(*from, out, diagnostics);
  SetIteration(*from, out, diagnostics);
  return out;
}

}  // namespace ck::meta
