#include "tools/ck-meta/from_plan.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/pipeline/pipeline.h"
#include "libs/pipeline/source_checks.h"
#include "libs/run/file_names.h"
#include "libs/run/layout.h"
#include "libs/run/plan_layout.h"
#include "libs/tensor/dtype.h"
#include "libs/transform/view.h"

namespace ck::meta {
namespace {

void ThrowFindings(const std::vector<plan::Finding>& findings, cli::Diagnostics& diagnostics) {
  if (findings.empty()) return;
  if (findings.size() == 1) throw InputError(findings[0].id, findings[0].message);
  for (const plan::Finding& finding : findings)
    diagnostics.PrintFinding(cli::Diagnostics::Finding::kError, finding.id, finding.message);
  throw InputError("pipeline.checks_failed", Cat(findings.size(), " checks failed; the plan cannot be carried out"));
}

transform::View ViewOf(const plan::Plan& plan, cli::Diagnostics& diagnostics) {
  plan::CheckRunnable(plan);
  const transform::MergeInputs inputs = pipeline::OpenInputs(plan);
  ThrowFindings(pipeline::CheckSteps(plan, inputs), diagnostics);
  transform::View view = pipeline::BuildView(plan, inputs, run::Producer());
  ThrowFindings(pipeline::CheckSourceFiles(view), diagnostics);
  return view;
}

void Report(const transform::View& view, cli::Diagnostics& diagnostics) {
  for (const plan::Finding& warning : view.warnings) diagnostics.Warn(warning.id, warning.message);
  for (const std::string& note : view.notes) diagnostics.Note(note);
  for (const transform::LeftOut& left : view.left_out) {
    diagnostics.Note(Cat("left out by rule ", left.rule, ": ", left.count, left.count == 1 ? " entry, " : " entries, ",
                         FormatBytes(left.bytes)));
  }
}

void AddTensors(const transform::View& view, const run::Layout& layout, ChunkLists chunk_lists, plan::Meta& meta) {
  for (const transform::Tensor& tensor : view.tensors) {
    plan::MetaTensor out{.name = tensor.name, .dtype = std::string(Name(tensor.dtype)), .shape = tensor.shape};
    out.bytes = CheckedMul(Volume(tensor.shape).value_or(UINT64_MAX), ElementSize(tensor.dtype)).value_or(UINT64_MAX);
    out.chunks = tensor.chunks.size();
    if (chunk_lists == ChunkLists::kYes) out.chunk_list.emplace();
    meta.tensors.push_back(std::move(out));
  }
  if (chunk_lists == ChunkLists::kNo) return;
  for (const run::TensorItem& item : layout.tensors) {
    const Box& box = view.tensors[item.tensor].chunks[item.chunk];
    meta.tensors[item.tensor].chunk_list->push_back(
        {.offset = box.offset, .shape = box.shape, .file = layout.files[item.file].name});
  }
}

File::Kind KindOf(const std::string& name) {
  if (name == checkpoint::kCommonFile) return File::Kind::kCommonState;
  if (name == run::kPlanFile) return File::Kind::kSidecar;
  return File::Kind::kMetadata;
}

// Everything that carrying the plan out would put into the directory.
std::vector<File> FilesOf(const transform::View& view, const run::Layout& layout) {
  std::vector<File> out;
  for (const run::OutputFile& file : layout.files)
    out.push_back({.name = file.name, .size_bytes = file.size_bytes, .kind = File::Kind::kData});
  for (const run::SmallFile& file : layout.small_files)
    out.push_back({.name = file.name, .size_bytes = file.content.size(), .kind = KindOf(file.name)});
  if (layout.index)
    out.push_back(
        {.name = layout.index->name, .size_bytes = layout.index->content.size(), .kind = File::Kind::kMetadata});
  for (const transform::SidecarFile& file : view.sidecars)
    out.push_back({.name = file.name, .size_bytes = file.bytes, .kind = File::Kind::kSidecar});
  std::sort(out.begin(), out.end(), [](const File& a, const File& b) { return a.name < b.name; });
  return out;
}

std::string ReadObject(const transform::View& view, const std::string& name) {
  const auto by_name = [](const transform::Object& object, const std::string& wanted) { return object.name < wanted; };
  const auto at = std::lower_bound(view.objects.begin(), view.objects.end(), name, by_name);
  Check(at != view.objects.end() && at->name == name, "an object of the contents is one of the view");
  if (at->literal) return *at->literal;
  const checkpoint::Checkpoint& input = *view.inputs[at->input];
  return input.ReadObject(*input.FindObject(at->source_name));
}

}  // namespace

Contents FromPlan(const plan::Plan& plan, ChunkLists chunk_lists, cli::Diagnostics& diagnostics) {
  const auto view = std::make_shared<transform::View>(ViewOf(plan, diagnostics));
  Report(*view, diagnostics);
  const run::Layout layout = run::LayOutPlan(plan, *view);
  Contents out;
  out.meta.format = Name(view->format);
  AddTensors(*view, layout, chunk_lists, out.meta);
  for (const run::ObjectItem& item : layout.objects) {
    out.meta.objects.push_back({.name = view->objects[item.object].name,
                                .bytes = item.total_bytes,
                                .file = layout.files[item.file].name});
  }
  out.files = FilesOf(*view, layout);
  if (view->common) {
    out.meta.common_form = plan::CommonForm::kCommonPt;
    out.common = State{.graph = std::move(view->common->graph), .root = view->common->root};
  }
  if (const int64_t* number = std::get_if<int64_t>(&plan.target)) {
    out.meta.iteration = *number;
  } else if (std::holds_alternative<std::monostate>(plan.target)) {
    out.meta.iteration = IterationOf(out.common);
  }
  out.read_object = [view](const std::string& name) { return ReadObject(*view, name); };
  return out;
}

}  // namespace ck::meta
