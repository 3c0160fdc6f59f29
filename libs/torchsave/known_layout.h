// Recognises a tensor item that is, byte for byte, what torch 2.7 and later (and ck) write for one dtype and shape, without parsing it.
//
// Everything but the data, its CRC and the serialization id is fixed by dtype and shape, so a comparison says as much as a parse, in a tenth of the time; a
// checkpoint of many small tensors is mostly headers. An item that differs anywhere is parsed as any other.
#ifndef CK_TORCHSAVE_KNOWN_LAYOUT_H_
#define CK_TORCHSAVE_KNOWN_LAYOUT_H_

#include <optional>
#include <string>
#include <string_view>

#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"
#include "libs/torchsave/read.h"

namespace ck::torchsave {

// What every item of one dtype and shape looks like.
class KnownLayout {
 public:
  KnownLayout(DType dtype, const Dims& shape);

  bool IsFor(DType dtype, const Dims& shape) const { return dtype == view_.dtype && shape == view_.shape; }
  // The tensor's place in `item`; nullopt when the item is not of this layout to the byte.
  std::optional<TensorView> Match(std::string_view item) const;

 private:
  std::string head_;
  std::string tail_;
  std::string mask_;  // of tail_: 0 where items of one shape differ
  TensorView view_;   // with the CRC still to be filled in
};

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_KNOWN_LAYOUT_H_
