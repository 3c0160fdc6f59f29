// A directory of safetensors files: every header, and the index against them.
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/safetensors/header.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

constexpr char kIndexName[] = "model.safetensors.index.json", kSingleName[] = "model.safetensors";
constexpr size_t kNamesShown = 3;

std::string Counted(size_t count, std::string_view noun) { return Cat(count, " ", noun, count == 1 ? "" : "s"); }

// "'a', 'b', 'c', ..."
std::string Some(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamesShown; ++i) out += Cat(i ? ", " : "", Quote(names[i]));
  return names.size() > kNamesShown ? Cat(out, ", ...") : out;
}

class Scan {
 public:
  Scan(std::string directory, Findings& findings) : directory_(std::move(directory)), findings_(findings) {}

  void Run() {
    LookForFiles();
    if (has_index_) ReadIndex();
    ReadHeaders();
    if (index_) {
      CompareWithIndex();
    } else if (!has_index_) {
      CheckWithoutIndex();
    }
  }

 private:
  using FileNames = std::vector<std::string>;

  void LookForFiles() {
    for (const fs::Entry& entry : fs::ListDirectory(directory_)) {
      if (entry.name == kIndexName) has_index_ = true;
      if (entry.info.type == fs::FileType::kFile && EndsWith(entry.name, ".safetensors")) files_.insert(entry.name);
    }
  }

  void ReadIndex() {
    try {
      index_ = safetensors::ReadIndex(fs::ReadSmallFile(fs::JoinPath(directory_, kIndexName), safetensors::kMaxIndexBytes));
    } catch (const Error& error) {
      return findings_.AddCaught(error, kIndexName);
    }
    for (const auto& [tensor, file] : index_->weight_map) wanted_[file].push_back(tensor);
  }

  // A file that the index does not name belongs to no model: its tensors count for nothing, but its header is read.
  bool Counts(const std::string& file) const { return !index_ || wanted_.count(file) > 0; }

  void ReadHeaders() {
    for (const std::string& name : files_) {
      try {
        const auto file = fs::InputFile::Open(fs::JoinPath(directory_, name));
        const safetensors::Header header = safetensors::ReadHeader(*file);
        if (!Counts(name)) continue;
        readable_.insert(name);
        for (const safetensors::Tensor& tensor : header.tensors) {
          files_of_[tensor.name].push_back(name);
          total_bytes_ += tensor.end - tensor.begin;
        }
      } catch (const Error& error) {
        findings_.AddCaught(error.At(Quote(name)), name);
      }
    }
  }

  void CompareWithIndex() {
    ReportMissingFiles();
    ReportGhosts();
    ReportDuplicates("two files of the index");
    ReportUnlisted();
    for (const std::string& file : files_) {
      if (file != kSingleName && wanted_.count(file) == 0) extra_.push_back(file);
    }
    if (!extra_.empty()) {
      findings_.AddWarning("safetensors.file_not_in_index", Cat(Counted(extra_.size(), "file"), " beside the index that it does not name: ", Some(extra_)),
                           {.where = extra_[0], .source = kIndexName});
    }
    if (files_.count(kSingleName) > 0 && wanted_.count(kSingleName) == 0) {
      findings_.AddWarning("safetensors.single_and_index",
                           Cat("both ", kSingleName, " and ", kIndexName, ", which does not name it; some loaders take the one, some the other"),
                           {.where = kSingleName, .source = kIndexName});
    }
    if (index_->total_size != 0 && all_readable_ && index_->total_size != total_bytes_) {
      findings_.AddWarning("safetensors.total_size", Cat("the index says total_size ", index_->total_size, ", the tensors have ", total_bytes_, " bytes"),
                           {.where = kIndexName, .found = Cat(index_->total_size), .expected = Cat(total_bytes_), .source = "the files' headers"});
    }
  }

  void ReportMissingFiles() {
    FileNames missing;
    size_t tensors = 0;
    for (const auto& [file, names] : wanted_) {
      if (readable_.count(file) == 0) all_readable_ = false;
      if (files_.count(file) > 0) continue;
      missing.push_back(file);
      tensors += names.size();
    }
    if (missing.empty()) return;
    findings_.AddError("safetensors.index_missing_file",
                       Cat(missing.size(), " of the ", Counted(wanted_.size(), "file"), " that the index names, with ", tensors, " of its ",
                           Counted(index_->weight_map.size(), "tensor"), ", are missing: ", Some(missing)),
                       {.where = missing[0], .found = Cat(missing.size(), " missing"), .source = kIndexName});
  }

  // Tensors that the index promises in a file whose header was read and has none of that name.
  void ReportGhosts() {
    std::vector<std::string> ghosts;
    for (const auto& [tensor, file] : index_->weight_map) {
      if (readable_.count(file) == 0) continue;
      const auto at = files_of_.find(tensor);
      const bool there = at != files_of_.end() && std::set<std::string>(at->second.begin(), at->second.end()).count(file) > 0;
      if (!there) ghosts.push_back(tensor);
    }
    if (ghosts.empty()) return;
    findings_.AddError("safetensors.index_ghost",
                       Cat("the index lists ", Counted(ghosts.size(), "tensor"), " that the file named for it does not hold: ", Some(ghosts)),
                       {.where = ghosts[0], .found = Cat(ghosts.size()), .source = kIndexName});
  }

  void ReportDuplicates(std::string_view among) {
    std::vector<std::string> twice;
    for (const auto& [tensor, files] : files_of_) {
      if (files.size() > 1) twice.push_back(tensor);
    }
    if (twice.empty()) return;
    findings_.AddError("safetensors.duplicate_tensor",
                       Cat(Counted(twice.size(), "tensor"), twice.size() == 1 ? " is in " : " are in ", among, ": ", Some(twice), " (",
                           Some(files_of_.at(twice[0])), ")"),
                       {.where = twice[0], .found = Cat(twice.size()), .source = "the files' headers"});
  }

  void ReportUnlisted() {
    std::vector<std::string> unlisted;
    for (const auto& [tensor, files] : files_of_) {
      if (index_->weight_map.count(tensor) == 0) unlisted.push_back(tensor);
    }
    if (unlisted.empty()) return;
    findings_.AddWarning("safetensors.not_in_index",
                         Cat(Counted(unlisted.size(), "tensor"), " in the files that the index does not list: ", Some(unlisted)),
                         {.where = unlisted[0], .found = Cat(unlisted.size()), .source = kIndexName});
  }

  void CheckWithoutIndex() {
    if (files_.count(kSingleName) > 0) {
      FileNames others(files_.begin(), files_.end());
      std::erase(others, kSingleName);
      if (!others.empty()) {
        findings_.AddWarning("safetensors.file_not_in_index", Cat(Counted(others.size(), "file"), " beside ", kSingleName, ": ", Some(others)),
                             {.where = others[0]});
      }
    } else if (files_.size() > 1) {
      findings_.AddError("safetensors.no_index",
                         Cat(files_.size(), " .safetensors files and no ", kIndexName, " that says which belong to the model"), {.where = kIndexName});
      ReportDuplicates("two files");
    }
  }

  const std::string directory_;
  Findings& findings_;
  bool has_index_ = false;
  std::optional<safetensors::Index> index_;
  std::set<std::string> files_;                           // *.safetensors that are there
  std::map<std::string, std::vector<std::string>> wanted_;  // by the index: file -> tensors
  std::set<std::string> readable_;                        // files of the model whose header was read
  std::map<std::string, FileNames> files_of_;             // tensor -> files of the model that hold it
  FileNames extra_;
  uint64_t total_bytes_ = 0;
  bool all_readable_ = true;
};

}  // namespace

void CheckSafetensorsDirectory(const std::string& directory, Findings& findings) { Scan(directory, findings).Run(); }

}  // namespace ck::validate
