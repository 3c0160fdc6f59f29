#include "libs/run/index_file.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/safetensors/header.h"

namespace ck::run {

SmallFile IndexOfWritten(const Layout& layout, const std::string& directory) {
  safetensors::Index index;
  for (const OutputFile& file : layout.files) {
    try {
      const auto written = fs::InputFile::Open(fs::JoinPath(directory, file.name));
      for (const safetensors::Tensor& tensor : safetensors::ReadHeader(*written).tensors) {
        index.weight_map.emplace(tensor.name, file.name);
        index.total_size += tensor.end - tensor.begin;
      }
    } catch (const Error& error) {
      throw EnvironmentError("run.verify_failed", Cat(directory, ": reading back ", file.name, ": ", error.message(), " [", error.id(), "]"));
    }
  }
  return {.name = layout.index->name, .content = safetensors::WriteIndex(index)};
}

}  // namespace ck::run
