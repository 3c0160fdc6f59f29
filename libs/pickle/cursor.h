// Reads the opcodes of a pickle and their arguments. Like bytes::Reader, but inline, and it remembers where the current
// opcode began: one pickle has tens of millions of them, and every message names one.
#ifndef CK_PICKLE_CURSOR_H_
#define CK_PICKLE_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/pickle/opcodes.h"

namespace ck::pickle {

class Cursor {
 public:
  explicit Cursor(std::string_view data) : data_(data) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return data_.size() - position_; }

  Op NextOp() {
    if (remaining() == 0) [[unlikely]] {
      throw InputError("pickle.no_stop", Cat("the pickle ends at byte ", position_, " without a STOP opcode"));
    }
    op_position_ = position_;
    return static_cast<Op>(data_[position_++]);
  }

  std::string_view Take(uint64_t length) {
    if (length > remaining()) [[unlikely]]
      Short(length);
    const std::string_view out = data_.substr(position_, length);
    position_ += length;
    return out;
  }

  uint8_t U8() { return static_cast<uint8_t>(LittleEndian<1>()); }
  uint16_t U16() { return static_cast<uint16_t>(LittleEndian<2>()); }
  uint32_t U32() { return static_cast<uint32_t>(LittleEndian<4>()); }
  uint64_t U64() { return LittleEndian<8>(); }

  uint64_t BigEndianU64() {
    uint64_t value = 0;
    for (const char byte : Take(8)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }

  // The text up to the next line feed, which is skipped.
  std::string_view Line() {
    const size_t end = data_.find('\n', position_);
    if (end == std::string_view::npos) Short(remaining() + 1);
    const std::string_view out = data_.substr(position_, end - position_);
    position_ = end + 1;
    return out;
  }

  // A frame only says how much a stream reader should fetch; one that is longer than the data betrays a cut file.
  void CheckFrame(uint64_t length) const {
    if (length > remaining()) Short(length);
  }

  // Throws Error(kInput, id) with the place of the current opcode.
  [[noreturn]] void Fail(std::string_view id, std::string_view what) const {
    constexpr std::string_view kHex = "0123456789abcdef";
    const uint8_t op = static_cast<uint8_t>(data_[op_position_]);
    throw InputError(std::string(id), Cat("the pickle ", what, " (byte ", op_position_, ", opcode 0x", kHex[op >> 4],
                                          kHex[op & 15], ")"));
  }

  [[noreturn]] void TooMany(std::string_view what, uint64_t limit) const {
    Fail("pickle.limit_exceeded", Cat("has too many ", what, ": the limit is ", limit));
  }

  [[noreturn]] void Unsupported(std::string_view name) const {
    Fail("pickle.opcode_unsupported",
         Cat("uses opcode ", name, ", which PyTorch and Megatron never write and ck does not read"));
  }

 private:
  template <size_t kSize>
  uint64_t LittleEndian() {
    const std::string_view bytes = Take(kSize);
    uint64_t value = 0;
    for (size_t i = 0; i < kSize; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }

  [[noreturn]] void Short(uint64_t wanted) const {
    Fail("pickle.truncated",
         Cat("ends too early: at byte ", position_, " it needs ", wanted, " more bytes, ", remaining(), " remain"));
  }

  std::string_view data_;
  uint64_t position_ = 0;
  uint64_t op_position_ = 0;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_CURSOR_H_
