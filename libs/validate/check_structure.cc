// Coverage, data files, and how items lie in them.
#include <algorithm>
#include <tuple>
#include <vector>

#include "libs/base/checked.h"
#include "libs/base/text.h"
#include "libs/checkpoint/data_files.h"
#include "libs/tensor/box.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

constexpr char kFromMetadata[] = ".metadata";

struct PlacedItem {
  dcp::Item item;
  const std::string* key;
  const dcp::Chunk* chunk;  // nullptr for a byte object
};

// Items with bytes, in the order in which they lie in their files.
std::vector<PlacedItem> PlacedItems(const Checkpoint& checkpoint) {
  std::vector<PlacedItem> out;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    for (const dcp::Chunk& chunk : tensor.chunks) {
      if (chunk.item.length > 0) out.push_back({chunk.item, &tensor.name, &chunk});
    }
  }
  for (const dcp::Object& object : checkpoint.objects()) {
    if (object.item.length > 0) out.push_back({object.item, &object.name, nullptr});
  }
  std::stable_sort(out.begin(), out.end(), [](const PlacedItem& a, const PlacedItem& b) {
    return std::tie(a.item.file, a.item.offset) < std::tie(b.item.file, b.item.offset);
  });
  return out;
}

std::string Describe(const PlacedItem& placed) {
  const std::string what = placed.chunk ? Cat("the chunk ", FormatBox(placed.chunk->box), " of ") : std::string("the object ");
  return Cat(what, Quote(*placed.key), " (bytes ", placed.item.offset, " + ", placed.item.length, ")");
}

uint64_t EndOf(const dcp::Item& item) { return CheckedAdd(item.offset, item.length).value_or(UINT64_MAX); }

void ReportFault(const dcp::Tensor& tensor, const CoverageFault& fault, Findings& findings) {
  const std::string name = Quote(tensor.name), shape = FormatDims(tensor.shape), where = FormatBox(fault.where);
  const Details details = {.where = tensor.name, .found = where, .expected = Cat("chunks that tile ", shape), .source = kFromMetadata};
  switch (fault.kind) {
    case CoverageFault::Kind::kRank:
      return findings.AddError("coverage.rank", Cat("chunk ", where, " of ", name, " has not as many dimensions as the tensor ", shape), details);
    case CoverageFault::Kind::kOutOfRange:
      return findings.AddError("coverage.out_of_range", Cat("chunk ", where, " of ", name, " reaches outside the tensor ", shape), details);
    case CoverageFault::Kind::kOverlap:
      return findings.AddError("coverage.overlap",
                               Cat("two chunks of ", name, " ", shape, ", ", FormatBox(tensor.chunks[fault.chunk].box), " and ",
                                   FormatBox(tensor.chunks[fault.other_chunk].box), ", both hold ", where),
                               details);
    case CoverageFault::Kind::kHole:
      return findings.AddError("coverage.hole", Cat("no chunk of ", name, " ", shape, " holds ", where), details);
  }
}

}  // namespace

bool HasNoItem(const dcp::Chunk& chunk) { return chunk.item.length == 0 && chunk.box.IsEmpty(); }

bool IsThere(const Checkpoint& checkpoint, const dcp::Item& item) {
  if (item.file >= checkpoint.files().size()) return false;
  const auto& size_bytes = checkpoint.files()[item.file].size_bytes;
  return size_bytes && RangeFits(item.offset, item.length, *size_bytes);
}

void CheckMetadataNotes(const Checkpoint& checkpoint, Findings& findings) {
  for (const std::string& note : checkpoint.metadata().notes) findings.AddWarning("metadata.note", note, {.where = kFromMetadata});
  const std::vector<std::string>& globals = checkpoint.metadata().unknown_globals;
  if (globals.empty()) return;
  findings.AddWarning("pickle.unknown_global",
                      Cat("the metadata names classes or functions that ck does not know, kept as data, never imported or called: ",
                          Quote(Join(globals, ", "))),
                      {.where = kFromMetadata, .found = Join(globals, ", ")});
}

void CheckDataFiles(const Checkpoint& checkpoint, Findings& findings) {
  const checkpoint::FileCheck check = checkpoint::CheckDataFiles(checkpoint);
  if (check.problems.empty()) return;
  findings.AddError("files.data_incomplete", checkpoint::Summary(check, checkpoint), {.source = kFromMetadata});
  for (const checkpoint::FileProblem& problem : check.problems) {
    findings.AddError(problem.size_bytes ? "checkpoint.short_file" : "checkpoint.missing_file", checkpoint::Describe(problem),
                      {.where = problem.name,
                       .found = problem.size_bytes ? Cat(*problem.size_bytes, " bytes") : std::string("no such file"),
                       .expected = Cat("at least ", problem.needed_bytes, " bytes"),
                       .source = kFromMetadata});
  }
}

void CheckItemPlacement(const Checkpoint& checkpoint, Findings& findings) {
  const std::vector<PlacedItem> items = PlacedItems(checkpoint);
  std::vector<uint64_t> unclaimed(checkpoint.files().size()), ends(checkpoint.files().size());
  const PlacedItem* furthest = nullptr;  // of the items so far in this file, the one that ends last
  for (const PlacedItem& placed : items) {
    uint64_t& end = ends[placed.item.file];
    if (furthest && furthest->item.file != placed.item.file) furthest = nullptr;
    if (placed.item.offset < end) {
      findings.AddError("items.overlap",
                        Cat("two items of ", Quote(checkpoint.files()[placed.item.file].name), " share bytes: ", Describe(*furthest), " and ", Describe(placed)),
                        {.where = checkpoint.files()[placed.item.file].name, .source = kFromMetadata});
    } else {
      unclaimed[placed.item.file] += placed.item.offset - end;
    }
    if (EndOf(placed.item) > end) {
      end = EndOf(placed.item);
      furthest = &placed;
    }
  }
  if (checkpoint.format() == checkpoint::Format::kSafetensors) return;  // its headers lie between; ReadHeader has checked the rest
  for (size_t i = 0; i < ends.size(); ++i) {
    const checkpoint::DataFile& file = checkpoint.files()[i];
    if (!file.size_bytes || *file.size_bytes < ends[i]) continue;
    if (const uint64_t trailing = *file.size_bytes - ends[i]) {
      findings.AddWarning("files.trailing_bytes", Cat(Quote(file.name), " has ", trailing, " bytes after its last item, which ends at byte ", ends[i]),
                          {.where = file.name, .found = Cat(*file.size_bytes, " bytes"), .expected = Cat(ends[i], " bytes"), .source = kFromMetadata});
    }
    if (unclaimed[i] > 0) {
      findings.AddWarning("files.unclaimed_bytes", Cat(Quote(file.name), " has ", unclaimed[i], " bytes between its items that belong to none"),
                          {.where = file.name, .source = kFromMetadata});
    }
  }
}

void CheckCoverage(const Checkpoint& checkpoint, Findings& findings) {
  std::vector<Box> boxes;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    boxes.clear();
    for (const dcp::Chunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
    for (const CoverageFault& fault : ck::CheckCoverage(tensor.shape, boxes)) ReportFault(tensor, fault, findings);
  }
}

}  // namespace ck::validate
