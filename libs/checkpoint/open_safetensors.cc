#include "libs/checkpoint/open_safetensors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/safetensors/header.h"

namespace ck::checkpoint {
namespace {

constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr char kSingleName[] = "model.safetensors";

struct Names {
  std::set<std::string> files;  // every *.safetensors of the directory
  bool index = false;
};

Names LookForFiles(const std::string& directory) {
  Names out;
  for (const fs::Entry& entry : fs::ListDirectory(directory)) {
    if (entry.info.type != fs::FileType::kFile) continue;
    if (entry.name == kIndexName) out.index = true;
    if (EndsWith(entry.name, ".safetensors")) out.files.insert(entry.name);
  }
  return out;
}

// Adds the tensors of one file. `file_of` remembers where each name was seen.
void AddFile(const std::string& directory, const std::string& name, dcp::Metadata& out,
             std::map<std::string, std::string>& file_of) {
  const auto file = fs::InputFile::Open(fs::JoinPath(directory, name));
  safetensors::Header header;
  try {
    header = safetensors::ReadHeader(*file);
  } catch (const Error& error) {
    throw error.At(name);
  }
  const auto number = static_cast<uint32_t>(out.files.size());
  out.files.push_back(name);
  for (const safetensors::Tensor& tensor : header.tensors) {
    const auto [at, is_new] = file_of.emplace(tensor.name, name);
    if (!is_new) {
      throw InputError("safetensors.duplicate_tensor",
                       Cat("tensor ", Quote(tensor.name), " is in two files, ", at->second, " and ", name));
    }
    const dcp::Item item{.file = number, .offset = tensor.begin, .length = tensor.end - tensor.begin};
    out.tensors.push_back({.name = tensor.name,
                           .dtype = tensor.dtype,
                           .shape = tensor.shape,
                           .chunks = {{Box::Whole(tensor.shape), item}}});
  }
}

void CompareWithIndex(const safetensors::Index& index, const std::map<std::string, std::string>& file_of,
                      dcp::Metadata& out) {
  for (const auto& [tensor, file] : index.weight_map) {
    const auto at = file_of.find(tensor);
    if (at == file_of.end() || at->second != file) {
      throw InputError("safetensors.index_ghost",
                       Cat("the index says that ", Quote(tensor), " is in ", file, ", it is ",
                           at == file_of.end() ? std::string("in no file") : "in " + at->second));
    }
  }
  for (const auto& [tensor, file] : file_of) {
    if (index.weight_map.count(tensor) == 0)
      out.notes.push_back(Cat("tensor ", Quote(tensor), " of ", file, " is not in the index"));
  }
}

}  // namespace

dcp::Metadata ReadSafetensorsDirectory(const std::string& directory) {
  const Names names = LookForFiles(directory);
  dcp::Metadata out;
  std::map<std::string, std::string> file_of;
  if (names.index) {
    const safetensors::Index index =
        safetensors::ReadIndex(fs::ReadSmallFile(fs::JoinPath(directory, kIndexName), safetensors::kMaxIndexBytes));
    std::set<std::string> wanted;
    for (const auto& [tensor, file] : index.weight_map) wanted.insert(file);
    std::vector<std::string> missing;
    std::set_difference(wanted.begin(), wanted.end(), names.files.begin(), names.files.end(),
                        std::back_inserter(missing));
    if (!missing.empty()) {
      throw InputError("safetensors.index_missing_file",
                       Cat("the index names ", wanted.size(), " files, ", missing.size(),
                           " of them are missing: ", Join(missing, ", ")));
    }
    for (const std::string& file : wanted) AddFile(directory, file, out, file_of);
    CompareWithIndex(index, file_of, out);
    for (const std::string& file : names.files) {
      if (wanted.count(file) == 0) out.notes.push_back(Cat(Quote(file), " is not in the index and was not read"));
    }
  } else if (names.files.count(kSingleName) > 0 || names.files.size() == 1) {
    const std::string file = names.files.count(kSingleName) > 0 ? kSingleName : *names.files.begin();
    AddFile(directory, file, out, file_of);
    for (const std::string& other : names.files) {
      if (other != file) out.notes.push_back(Cat(Quote(other), " is beside ", file, " and was not read"));
    }
  } else {
    throw InputError("safetensors.no_index", Cat(names.files.size(), " .safetensors files and no ", kIndexName,
                                                 " that says which belong to the model"));
  }
  std::sort(out.tensors.begin(), out.tensors.end(),
            [](const dcp::Tensor& a, const dcp::Tensor& b) { return a.name < b.name; });
  return out;
}

}  // namespace ck::checkpoint
