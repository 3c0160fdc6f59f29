#include "libs/run/verify.h"

#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/fs/read.h"
#include "libs/tensor/box.h"

namespace ck::run {
namespace {

[[noreturn]] void Differs(const std::string& directory, const std::string& what) {
  throw EnvironmentError("run.verify_failed", Cat(directory, ": reading back what was written: ", what));
}

void CheckSmallFile(const SmallFile& file, const std::string& directory) {
  if (fs::ReadSmallFile(fs::JoinPath(directory, file.name), file.content.size()) != file.content) Differs(directory, Cat(file.name, " has other bytes"));
}

void CheckFiles(const Layout& layout, const std::string& directory) {
  for (const OutputFile& file : layout.files) {
    const auto info = fs::Stat(fs::JoinPath(directory, file.name));
    if (!info) Differs(directory, Cat(file.name, " is missing"));
    if (info->size_bytes != file.size_bytes) Differs(directory, Cat(file.name, " has ", info->size_bytes, " bytes, ", file.size_bytes, " were written"));
    if (file.header.empty()) continue;
    const auto written = fs::InputFile::Open(fs::JoinPath(directory, file.name));
    if (written->Read(0, file.header.size(), file.header.size()) != file.header) Differs(directory, Cat(file.name, " has another header"));
  }
  for (const SmallFile& file : layout.small_files) CheckSmallFile(file, directory);
  if (layout.index) CheckSmallFile(*layout.index, directory);
}

// A loader survives them, but nothing that ck writes gives rise to one.
void CheckNoNotes(const checkpoint::Checkpoint& written, const std::string& directory) {
  const std::vector<std::string>& notes = written.metadata().notes;
  if (written.format() == checkpoint::Format::kSafetensors && !notes.empty()) Differs(directory, notes[0]);
}

void CheckTensors(const transform::View& view, const checkpoint::Checkpoint& written, const std::string& directory) {
  if (written.tensors().size() != view.tensors.size()) {
    Differs(directory, Cat(written.tensors().size(), " tensors, planned are ", view.tensors.size()));
  }
  for (size_t i = 0; i < view.tensors.size(); ++i) {
    const transform::Tensor& planned = view.tensors[i];
    const dcp::Tensor& found = written.tensors()[i];
    bool same = found.name == planned.name && found.dtype == planned.dtype && found.shape == planned.FileShape() && found.chunks.size() == planned.chunks.size();
    for (size_t c = 0; same && c < planned.chunks.size(); ++c) same = found.chunks[c].box == (planned.file_shape ? Box::Whole(*planned.file_shape) : planned.chunks[c]);
    if (!same) Differs(directory, Cat("tensor ", Quote(found.name), " is not the planned ", Quote(planned.name)));
    for (const dcp::Chunk& chunk : found.chunks) written.Locate(found, chunk);  // throws when the item's header does not fit
  }
}

void CheckObjects(const transform::View& view, const Layout& layout, const checkpoint::Checkpoint& written, const std::string& directory) {
  if (written.objects().size() != view.objects.size()) Differs(directory, Cat(written.objects().size(), " objects, planned are ", view.objects.size()));
  for (size_t i = 0; i < view.objects.size(); ++i) {
    const dcp::Object& found = written.objects()[i];
    if (found.name != view.objects[i].name || found.item.length != layout.objects[i].total_bytes) {
      Differs(directory, Cat("object ", Quote(found.name), " is not the planned ", Quote(view.objects[i].name)));
    }
  }
}

}  // namespace

void VerifyReadable(const std::string& directory) {
  try {
    const auto written = checkpoint::Checkpoint::Open(directory);
    for (const dcp::Tensor& tensor : written->tensors()) {
      std::vector<Box> boxes;
      for (const dcp::Chunk& chunk : tensor.chunks) {
        boxes.push_back(chunk.box);
        written->Locate(tensor, chunk);
      }
      const auto faults = CheckCoverage(tensor.shape, boxes, 1);
      if (!faults.empty()) Differs(directory, Cat("the chunks of ", Quote(tensor.name), " do not tile it near ", FormatBox(faults[0].where)));
    }
    for (const dcp::Object& object : written->objects()) written->OpenItem(object.item);
    if (written->format() == checkpoint::Format::kTorchDist) checkpoint::ReadCommonState(*written);
  } catch (const Error& error) {
    if (error.id() == "run.verify_failed") throw;
    Differs(directory, Cat(error.message(), " [", error.id(), "]"));
  }
}

void VerifyWritten(const transform::View& view, const Layout& layout, const std::string& directory) {
  CheckFiles(layout, directory);
  try {
    const auto written = checkpoint::Checkpoint::Open(directory);
    CheckNoNotes(*written, directory);
    CheckTensors(view, *written, directory);
    CheckObjects(view, layout, *written, directory);
  } catch (const Error& error) {
    if (error.id() == "run.verify_failed") throw;
    Differs(directory, Cat(error.message(), " [", error.id(), "]"));
  }
}

}  // namespace ck::run
