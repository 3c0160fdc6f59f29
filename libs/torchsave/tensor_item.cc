#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/torchsave/known_layout.h"
#include "libs/torchsave/read.h"

namespace ck::torchsave {
namespace {

// torch's head of a tensor item has about 700 bytes, its tail 700 more.
constexpr uint64_t kEndBytes = 4096;

// A source whose first and last bytes are in memory.
class EndsSource : public bytes::Source {
 public:
  // Precondition: size >= 2 * kEndBytes.
  explicit EndsSource(const bytes::Source& whole)
      : whole_(whole),
        head_(whole.Read(0, kEndBytes, kEndBytes)),
        tail_(whole.Read(whole.size() - kEndBytes, kEndBytes, kEndBytes)) {}

  uint64_t size() const override { return whole_.size(); }
  std::string name() const override { return whole_.name(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    CheckRange(offset, length);
    const uint64_t tail_offset = size() - kEndBytes;
    if (offset + length <= kEndBytes) {
      head_.copy(out, length, offset);
    } else if (offset >= tail_offset) {
      tail_.copy(out, length, offset - tail_offset);
    } else {
      whole_.ReadInto(offset, length, out);
    }
  }

 private:
  const bytes::Source& whole_;
  std::string head_, tail_;
};

TensorView RootTensor(const bytes::Source& source) {
  const SavedObject object = ReadObject(source);
  std::optional<TensorView> view;
  try {
    view = AsTensor(object, object.root);
  } catch (const Error& error) {
    throw error.At(source.name());
  }
  if (!view) throw InputError("torchsave.bad_tensor", Cat(source.name(), ": the saved object is no tensor"));
  return *std::move(view);
}

}  // namespace

TensorView ReadTensorItem(const bytes::Source& source) {
  if (source.size() > kWholeItemBytes) return RootTensor(EndsSource(source));
  const std::string item = source.Read(0, source.size(), kWholeItemBytes);
  return RootTensor(bytes::StringSource(item, source.name()));
}

TensorView ReadTensorItem(std::string_view item, const std::string& name, DType dtype, const Dims& shape) {
  // Neighbouring items mostly have one shape. An item too small for its shape is not laid out for it: a hostile shape costs nothing.
  thread_local std::optional<KnownLayout> last;
  const auto elements = Volume(shape);
  if (elements && *elements <= item.size() / ElementSize(dtype)) {
    if (!last || !last->IsFor(dtype, shape)) last.emplace(dtype, shape);
    if (auto view = last->Match(item)) return *std::move(view);
  }
  return RootTensor(bytes::StringSource(item, name));
}

}  // namespace ck::torchsave
