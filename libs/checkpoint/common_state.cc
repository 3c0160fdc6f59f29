#include "libs/checkpoint/common_state.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/pickle/describe.h"

namespace ck::checkpoint {
namespace {

constexpr std::string_view kNames[] = {"none", "common.pt", "embedded"};
constexpr size_t kMaxDescription = 200;  // bytes of a message

bool IsDict(const pickle::Graph& graph, pickle::Ref ref) {
  return graph.kind(ref) == pickle::Kind::kDict;
}

// The embedded form is a list of one dict: one element per object registered under the key.
pickle::Ref EmbeddedDict(const torchsave::SavedObject& object) {
  const bool is_list = object.graph.kind(object.root) == pickle::Kind::kList;
  if (!is_list || object.graph.items(object.root).size() != 1) {
    throw InputError("common.unknown_layout", Cat(kEmbeddedCommonKey, " is not a list of one dict"));
  }
  return object.graph.items(object.root)[0];
}

void RefuseOtherEmbeddedKeys(const Checkpoint& checkpoint) {
  for (const dcp::Object& object : checkpoint.objects()) {
    if (IsCommonStateKey(object.name) && object.name != kEmbeddedCommonKey) {
      throw InputError("common.unknown_layout", Cat("unknown layout of the common state: ", Quote(object.name),
                                                    ", expected ", kEmbeddedCommonKey));
    }
  }
}

}  // namespace

std::string_view Name(CommonForm form) {
  return kNames[static_cast<size_t>(form)];
}

bool IsCommonStateKey(std::string_view object_name) {
  return StartsWith(object_name, "common_state/");
}

CommonState ReadCommonState(const Checkpoint& checkpoint) {
  RefuseOtherEmbeddedKeys(checkpoint);
  CommonState out;
  const std::string path = fs::JoinPath(checkpoint.path(), kCommonFile);
  const dcp::Object* embedded = checkpoint.FindObject(kEmbeddedCommonKey);
  std::string where;
  if (fs::Stat(path)) {
    out.form = CommonForm::kCommonPt;
    out.both_forms = embedded != nullptr;
    out.stored = fs::ReadSmallFile(path, kMaxCommonBytes);
    where = Quote(path, 4096);
  } else if (embedded) {
    out.form = CommonForm::kEmbedded;
    out.stored = checkpoint.ReadObject(*embedded);
    where = Cat(Quote(checkpoint.path(), 4096), ": ", kEmbeddedCommonKey);
  } else {
    return out;
  }
  try {
    out.object = torchsave::ReadObject(bytes::StringSource(out.stored));
    out.dict = out.form == CommonForm::kEmbedded ? EmbeddedDict(out.object) : out.object.root;
    if (!IsDict(out.object.graph, out.dict)) {
      throw InputError("common.not_a_dict", Cat("the common state is ", Quote(pickle::Describe(out.object.graph, out.dict, kMaxDescription)),
                                                ", expected a dict"));
    }
  } catch (const Error& error) {
    throw error.At(where);
  }
  return out;
}

std::optional<int64_t> CommonState::iteration() const {
  if (dict == pickle::kNoRef) return std::nullopt;
  const pickle::Ref ref = object.graph.Find(dict, "iteration");
  if (ref == pickle::kNoRef || object.graph.kind(ref) != pickle::Kind::kInt) return std::nullopt;
  return object.graph.AsInt(ref);
}

pickle::Ref CommonState::args() const {
  return dict == pickle::kNoRef ? pickle::kNoRef : object.graph.Find(dict, "args");
}

std::string CommonState::StorageBytes(const std::string& key) const {
  const torchsave::Storage* storage = object.FindStorage(key);
  if (!storage) throw InputError("torchsave.storage_missing", Cat("common state: storage ", Quote(key), " is missing"));
  return bytes::StringSource(stored).Read(storage->offset, storage->size_bytes, kMaxCommonBytes);
}

}  // namespace ck::checkpoint
