// Builds pickles opcode by opcode, so that a test can read its malformed input:
//
//   PickleBuilder().Proto(2).Global("foo", "Bar").Op(Op::kEmptyTuple).Op(Op::kReduce).Stop()
//
// Nothing is checked: whatever is put in comes out.
#ifndef CK_PICKLE_TESTING_PICKLE_BUILDER_H_
#define CK_PICKLE_TESTING_PICKLE_BUILDER_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "libs/bytes/reader.h"
#include "libs/pickle/opcodes.h"

namespace ck::pickle {

class PickleBuilder {
 public:
  // An opcode without an argument.
  PickleBuilder& Op(pickle::Op op) { return U8(static_cast<uint8_t>(op)); }
  PickleBuilder& Op(pickle::Op op, size_t times) {
    out_.append(times, static_cast<char>(op));
    return *this;
  }
  // An opcode of protocol 0, its text and the line feed.
  PickleBuilder& Line(pickle::Op op, std::string_view text) { return Op(op).Raw(text).Raw("\n"); }

  PickleBuilder& Proto(uint8_t version) { return Op(pickle::Op::kProto).U8(version); }
  PickleBuilder& Frame(uint64_t length) { return Op(pickle::Op::kFrame).U64(length); }
  PickleBuilder& None() { return Op(pickle::Op::kNone); }
  PickleBuilder& Mark() { return Op(pickle::Op::kMark); }
  PickleBuilder& Int(int32_t value) { return Op(pickle::Op::kBinInt).U32(static_cast<uint32_t>(value)); }
  PickleBuilder& Byte(uint8_t value) { return Op(pickle::Op::kBinInt1).U8(value); }
  PickleBuilder& Long(std::string_view little_endian) {
    return Op(pickle::Op::kLong1).U8(static_cast<uint8_t>(little_endian.size())).Raw(little_endian);
  }
  PickleBuilder& Float(double value) {
    Op(pickle::Op::kBinFloat);
    for (int shift = 56; shift >= 0; shift -= 8) U8(static_cast<uint8_t>(std::bit_cast<uint64_t>(value) >> shift));
    return *this;
  }
  PickleBuilder& Text(std::string_view utf8) {
    return Op(pickle::Op::kBinUnicode).U32(static_cast<uint32_t>(utf8.size())).Raw(utf8);
  }
  PickleBuilder& Bytes(std::string_view bytes) {
    return Op(pickle::Op::kBinBytes).U32(static_cast<uint32_t>(bytes.size())).Raw(bytes);
  }
  PickleBuilder& Global(std::string_view module, std::string_view name) {
    return Line(pickle::Op::kGlobal, module).Raw(name).Raw("\n");
  }
  PickleBuilder& StackGlobal(std::string_view module, std::string_view name) {
    return Text(module).Text(name).Op(pickle::Op::kStackGlobal);
  }
  PickleBuilder& Put(uint8_t index) { return Op(pickle::Op::kBinPut).U8(index); }
  PickleBuilder& Get(uint8_t index) { return Op(pickle::Op::kBinGet).U8(index); }

  PickleBuilder& Raw(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  PickleBuilder& U8(uint8_t value) {
    out_.push_back(static_cast<char>(value));
    return *this;
  }
  PickleBuilder& U16(uint16_t value) {
    bytes::PutU16(out_, value);
    return *this;
  }
  PickleBuilder& U32(uint32_t value) {
    bytes::PutU32(out_, value);
    return *this;
  }
  PickleBuilder& U64(uint64_t value) {
    bytes::PutU64(out_, value);
    return *this;
  }

  // The bytes, without and with a STOP at the end.
  std::string Take() const { return out_; }
  std::string Stop() const { return out_ + static_cast<char>(pickle::Op::kStop); }

 private:
  std::string out_;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_TESTING_PICKLE_BUILDER_H_
