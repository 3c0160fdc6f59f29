#include "libs/bytes/reader.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::bytes {
namespace {

template <typename T>
T LittleEndian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | T{static_cast<uint8_t>(bytes[i])} << (8 * i));
  return value;
}

template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

}  // namespace

Reader::Reader(std::string_view data, std::string truncated_id, std::string what)
    : data_(data), truncated_id_(std::move(truncated_id)), what_(std::move(what)) {}

void Reader::Short(uint64_t wanted) const {
  throw InputError(truncated_id_, Cat(what_, " ends too early: at byte ", position_, " it needs ", wanted, " more bytes, ",
                                      remaining(), " remain"));
}

std::string_view Reader::Take(uint64_t length) {
  if (length > remaining()) Short(length);
  const std::string_view out = data_.substr(position_, length);
  position_ += length;
  return out;
}

uint8_t Reader::U8() { return LittleEndian<uint8_t>(Take(1)); }
uint16_t Reader::U16() { return LittleEndian<uint16_t>(Take(2)); }
uint32_t Reader::U32() { return LittleEndian<uint32_t>(Take(4)); }
uint64_t Reader::U64() { return LittleEndian<uint64_t>(Take(8)); }

std::string_view Reader::TakeUntil(char byte) {
  const size_t end = data_.find(byte, position_);
  if (end == std::string_view::npos) Short(remaining() + 1);
  const std::string_view out = data_.substr(position_, end - position_);
  position_ = end + 1;
  return out;
}

void Reader::Seek(uint64_t position) {
  if (position > data_.size()) Short(position - position_);
  position_ = position;
}

void PutU16(std::string& out, uint16_t value) { Put(out, value); }
void PutU32(std::string& out, uint32_t value) { Put(out, value); }
void PutU64(std::string& out, uint64_t value) { Put(out, value); }

}  // namespace ck::bytes
