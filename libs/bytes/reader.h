// A bounded cursor over bytes in memory. Format code reads through it and never does pointer arithmetic of its own.
//
// Bytes are std::string_view throughout ck. Every read compares its length with what remains first; a short read throws
// Error(kInput, id given to the constructor) with the position, the wanted and the remaining number of bytes.
#ifndef CK_BYTES_READER_H_
#define CK_BYTES_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ck::bytes {

class Reader {
 public:
  // `truncated_id` names the error of a short read, e.g. "zip.truncated". `what` names the thing being read in messages.
  Reader(std::string_view data, std::string truncated_id, std::string what);

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return data_.size() - position_; }
  bool AtEnd() const { return position_ == data_.size(); }

  uint8_t U8();
  uint16_t U16();  // little-endian, as all below
  uint32_t U32();
  uint64_t U64();
  // The next `length` bytes, a view into the data.
  std::string_view Take(uint64_t length);
  // Everything up to (not including) the next `byte`; the cursor moves past it. Short when there is none.
  std::string_view TakeUntil(char byte);
  // Moves to an absolute position, at most the size.
  void Seek(uint64_t position);

 private:
  [[noreturn]] void Short(uint64_t wanted) const;

  std::string_view data_;
  uint64_t position_ = 0;
  std::string truncated_id_;
  std::string what_;
};

// Little-endian appenders.
void PutU16(std::string& out, uint16_t value);
void PutU32(std::string& out, uint32_t value);
void PutU64(std::string& out, uint64_t value);

}  // namespace ck::bytes

#endif  // CK_BYTES_READER_H_
