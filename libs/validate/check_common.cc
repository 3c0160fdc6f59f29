// The common state of Megatron's formats, and where its arguments are.
#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
#include "libs/fs/read.h"
#include "libs/torchsave/read.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

using checkpoint::CommonForm;
using checkpoint::CommonState;

// The iteration in the embedded form, for a checkpoint that has common.pt too.
std::optional<int64_t> EmbeddedIteration(const Checkpoint& checkpoint) {
  const dcp::Object* object = checkpoint.FindObject(checkpoint::kEmbeddedCommonKey);
  if (!object || !IsThere(checkpoint, object->item)) return std::nullopt;
  const std::string bytes = checkpoint.ReadObject(*object);
  const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(bytes));
  const pickle::Graph& graph = saved.graph;
  if (graph.kind(saved.root) != pickle::Kind::kList || graph.items(saved.root).size() != 1) return std::nullopt;
  const pickle::Ref dict = graph.items(saved.root)[0];
  if (graph.kind(dict) != pickle::Kind::kDict) return std::nullopt;
  const pickle::Ref value = graph.Find(dict, "iteration");
  if (value == pickle::kNoRef || graph.kind(value) != pickle::Kind::kInt) return std::nullopt;
  return graph.AsInt(value);
}

std::string Shown(const std::optional<int64_t>& iteration) { return iteration ? Cat("iteration ", *iteration) : std::string("no iteration"); }

void CheckForms(const Checkpoint& checkpoint, const CommonState& state, Findings& findings) {
  if (!state.both_forms) return;
  std::optional<int64_t> embedded;
  try {
    embedded = EmbeddedIteration(checkpoint);
  } catch (const Error& error) {
    findings.AddCaught(error.At(checkpoint::kEmbeddedCommonKey), std::string(checkpoint::kEmbeddedCommonKey));
  }
  findings.AddWarning("common.both_forms",
                      Cat("holds both common.pt (", Shown(state.iteration()), ") and ", checkpoint::kEmbeddedCommonKey, " (", Shown(embedded),
                          "); Megatron and ck use common.pt, a merge refuses it"),
                      {.where = std::string(checkpoint::kCommonFile)});
}

void CheckIteration(const Checkpoint& checkpoint, const CommonState& state, Findings& findings) {
  const auto& named = checkpoint.iteration().number;
  const auto recorded = state.iteration();
  if (!named || !recorded || *recorded == static_cast<int64_t>(*named)) return;
  findings.AddWarning("common.iteration_differs", Cat("the directory's name says iteration ", *named, ", the common state ", *recorded),
                      {.where = std::string(Name(state.form)), .found = Cat(*recorded), .expected = Cat(*named), .source = "the directory's name"});
}

// The embedded form lies in a data file; one that is missing has been reported.
bool EmbeddedIsLost(const Checkpoint& checkpoint) {
  const dcp::Object* embedded = checkpoint.FindObject(checkpoint::kEmbeddedCommonKey);
  return embedded && !IsThere(checkpoint, embedded->item) && !fs::Stat(fs::JoinPath(checkpoint.path(), checkpoint::kCommonFile));
}

void CheckTorchDistState(const Checkpoint& checkpoint, Findings& findings) {
  if (EmbeddedIsLost(checkpoint)) return;
  std::optional<CommonState> state;
  try {
    state = checkpoint::ReadCommonState(checkpoint);
  } catch (const Error& error) {
    return findings.AddCaught(error, std::string(checkpoint::kCommonFile));
  }
  if (state->form == CommonForm::kNone) {
    return findings.AddWarning("common.none",
                               Cat("has no common state: neither common.pt nor ", checkpoint::kEmbeddedCommonKey,
                                   "; Megatron cannot load it, and what needs the arguments fails"),
                               {.where = std::string(checkpoint::kCommonFile)});
  }
  CheckForms(checkpoint, *state, findings);
  CheckIteration(checkpoint, *state, findings);
  CheckGlobals(state->object.graph, state->form == CommonForm::kCommonPt ? "common.pt" : std::string(checkpoint::kEmbeddedCommonKey), findings);
  if (state->args() != pickle::kNoRef) CheckArguments(checkpoint, state->object.graph, state->args(), findings);
}

// fsdp_dtensor keeps the arguments as a byte object; that it can be read is CheckObjects' business.
void CheckLooseArguments(const Checkpoint& checkpoint, Findings& findings) {
  const dcp::Object* args = checkpoint.FindObject("args");
  if (!args || !IsThere(checkpoint, args->item)) return;
  std::string bytes;
  std::optional<torchsave::SavedObject> saved;
  try {
    bytes = checkpoint.ReadObject(*args);
    saved = torchsave::ReadObject(bytes::StringSource(bytes));
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    return;
  }
  CheckArguments(checkpoint, saved->graph, saved->root, findings);
}

}  // namespace

void CheckCommonState(const Checkpoint& checkpoint, Findings& findings) {
  if (checkpoint.format() == checkpoint::Format::kTorchDist) return CheckTorchDistState(checkpoint, findings);
  if (checkpoint.format() == checkpoint::Format::kFsdpDtensor) CheckLooseArguments(checkpoint, findings);
}

}  // namespace ck::validate
