#include "tools/ck-meta/contents.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/megatron/keys.h"
#include "libs/tensor/box.h"
#include "libs/torchsave/read.h"

namespace ck::meta {
namespace {

constexpr size_t kMaxShownPrefixes = 4;

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return CheckedAdd(a, b).value_or(UINT64_MAX); }

bool MatchesAny(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return GlobMatch(glob, name); });
}

// Names that every Megatron model has, and where its layers stand.
constexpr std::string_view kAnchors[] = {"embedding.word_embeddings.weight", "decoder.final_layernorm.weight",
                                         "decoder.final_norm.weight", "output_layer.weight"};
constexpr std::string_view kLayers = "decoder.layers.";

// What stands before an anchor; nullopt when the name has none.
std::optional<std::string_view> PrefixOf(std::string_view name) {
  size_t at = name.find(kLayers);
  for (const std::string_view anchor : kAnchors) {
    if (at == std::string_view::npos && EndsWith(name, anchor)) at = name.size() - anchor.size();
  }
  if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) return std::nullopt;
  return name.substr(0, at);
}

}  // namespace

bool NameFilter::Matches(const std::string& name) const {
  return (include.empty() || MatchesAny(include, name)) && !MatchesAny(exclude, name);
}

void Filter(const NameFilter& filter, Contents& contents) {
  contents.all_tensors = contents.meta.tensors.size();
  contents.all_objects = contents.meta.objects.size();
  if (filter.empty()) return;
  std::erase_if(contents.meta.tensors, [&](const plan::MetaTensor& tensor) { return !filter.Matches(tensor.name); });
  std::erase_if(contents.meta.objects, [&](const plan::MetaObject& object) { return !filter.Matches(object.name); });
}

plan::Totals TotalsOf(const plan::Meta& meta) {
  plan::Totals out{.tensors = meta.tensors.size(), .objects = meta.objects.size()};
  for (const plan::MetaTensor& tensor : meta.tensors) {
    out.elements = SaturatingAdd(out.elements, Volume(tensor.shape).value_or(UINT64_MAX));
    out.bytes = SaturatingAdd(out.bytes, tensor.bytes);
  }
  return out;
}

State ReadState(const Contents& contents, const std::string& object_name) {
  torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(contents.read_object(object_name)));
  return {.graph = std::move(saved.graph), .root = saved.root};
}

std::optional<int64_t> IterationOf(const std::optional<State>& common) {
  if (!common) return std::nullopt;
  const pickle::Ref ref = common->graph.Find(common->root, "iteration");
  if (ref == pickle::kNoRef || common->graph.kind(ref) != pickle::Kind::kInt) return std::nullopt;
  const int64_t iteration = common->graph.AsInt(ref);
  return iteration < 0 ? std::nullopt : std::optional(iteration);
}

std::string DescribeWrapper(const plan::Meta& meta) {
  std::map<std::string_view, uint64_t> counts;
  for (const plan::MetaTensor& tensor : meta.tensors) {
    if (megatron::Classify(tensor.name) == megatron::KeyClass::kOptimizer) continue;
    if (const auto prefix = PrefixOf(tensor.name)) ++counts[*prefix];
  }
  if (counts.empty()) return "";
  if (counts.size() == 1) {
    const std::string_view prefix = counts.begin()->first;
    return prefix.empty() ? "" : Cat("names of the model begin with ", Quote(prefix));
  }
  std::vector<std::string> shown;
  for (const auto& [prefix, count] : counts) {
    if (shown.size() == kMaxShownPrefixes) {
      shown.push_back("...");
      break;
    }
    shown.push_back(Cat(Quote(prefix), " (", count, ")"));
  }
  return Cat("names of the model begin differently: ", Join(shown, ", "));
}

}  // namespace ck::meta
