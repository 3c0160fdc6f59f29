#include "libs/checkpoint/data_files.h"

#include <algorithm>
#include <map>

#include "libs/base/text.h"

namespace ck::checkpoint {
namespace {

// Sums saturate: the lengths come from a file and are only shown.
uint64_t AddSaturated(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

class Collector {
 public:
  explicit Collector(const Checkpoint& checkpoint) : files_(checkpoint.files()), problems_(files_.size()) {}

  void Add(const std::string& key, const dcp::Item& item) {
    if (item.length == 0) return;  // a chunk of volume 0 that has no item: its file means nothing
    total_ = AddSaturated(total_, item.length);
    const DataFile& file = files_[item.file];
    FileProblem& problem = problems_[item.file];
    const uint64_t end = AddSaturated(item.offset, item.length);
    problem.needed_bytes = std::max(problem.needed_bytes, end);
    if (file.size_bytes && end <= *file.size_bytes) return;
    ++problem.lost_items;
    problem.lost_bytes = AddSaturated(problem.lost_bytes, item.length);
    if (problem.keys.empty() || problem.keys.back() != key) problem.keys.push_back(key);
  }

  FileCheck Result() {
    FileCheck out{.problems = {}, .item_bytes = total_};
    for (size_t i = 0; i < problems_.size(); ++i) {
      if (files_[i].size_bytes && problems_[i].lost_items == 0) continue;
      problems_[i].name = files_[i].name;
      problems_[i].size_bytes = files_[i].size_bytes;
      std::sort(problems_[i].keys.begin(), problems_[i].keys.end());
      out.problems.push_back(std::move(problems_[i]));
    }
    return out;
  }

 private:
  const std::vector<DataFile>& files_;
  std::vector<FileProblem> problems_;
  uint64_t total_ = 0;
};

uint64_t Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<uint64_t>(100.0 * static_cast<double>(part) / static_cast<double>(whole) + 0.5);
}

std::string Counted(uint64_t count, std::string_view noun) {
  return Cat(count, " ", noun, count == 1 ? "" : "s");
}

// The first keys by name: enough to recognise what is gone.
std::string SomeKeys(const std::vector<std::string>& keys) {
  constexpr size_t kShown = 3;
  std::string out;
  for (size_t i = 0; i < std::min(keys.size(), kShown); ++i) out += Cat(i ? ", " : "", Quote(keys[i]));
  return keys.size() > kShown ? Cat(out, ", ...") : out;
}

}  // namespace

FileCheck CheckDataFiles(const Checkpoint& checkpoint) {
  Collector collector(checkpoint);
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    for (const dcp::Chunk& chunk : tensor.chunks) collector.Add(tensor.name, chunk.item);
  }
  for (const dcp::Object& object : checkpoint.objects()) collector.Add(object.name, object.item);
  return collector.Result();
}

std::string Describe(const FileProblem& problem) {
  const std::string lost =
      Cat(problem.lost_bytes, " bytes of ", Counted(problem.keys.size(), "key"), ": ", SomeKeys(problem.keys));
  if (!problem.size_bytes)
    return problem.keys.empty() ? Cat(Quote(problem.name), " is missing")
                                : Cat(Quote(problem.name), " is missing (", lost, ")");
  return Cat(Quote(problem.name), " has ", Counted(*problem.size_bytes, "byte"), ", needs ", problem.needed_bytes,
             " (lost: ", lost, ")");
}

std::string Summary(const FileCheck& check, const Checkpoint& checkpoint) {
  if (check.problems.empty()) return "";
  uint64_t missing = 0, lost = 0;
  for (const FileProblem& problem : check.problems) {
    if (!problem.size_bytes) ++missing;
    lost = AddSaturated(lost, problem.lost_bytes);
  }
  std::vector<std::string> counts;
  const uint64_t short_files = check.problems.size() - missing;
  if (missing > 0) counts.push_back(Cat(missing, " missing"));
  if (short_files > 0) counts.push_back(Cat(short_files, " short"));
  return Cat(Join(counts, " and "), " of ", Counted(checkpoint.files().size(), "data file"), ", ",
             Percent(lost, check.item_bytes), "% of the bytes",
             missing > 0 && missing < checkpoint.files().size() ? " (on another node's disk?)" : "");
}

std::string Describe(const FileCheck& check, const Checkpoint& checkpoint) {
  std::vector<std::string> each;
  for (const FileProblem& problem : check.problems) each.push_back(Describe(problem));
  return each.empty() ? "" : Cat(Summary(check, checkpoint), ": ", Join(each, "; "));
}

}  // namespace ck::checkpoint
