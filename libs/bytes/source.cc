#include "libs/bytes/source.h"

#include <cstring>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::bytes {

std::string Source::Read(uint64_t offset, uint64_t length, uint64_t limit) const {
  CheckRange(offset, length);
  if (length > limit) {
    throw InputError("bytes.too_long", Cat(name(), ": ", length, " bytes at ", offset, ", the limit is ", limit));
  }
  std::string out(length, '\0');
  ReadInto(offset, length, out.data());
  return out;
}

void Source::CheckRange(uint64_t offset, uint64_t length) const {
  if (!RangeFits(offset, length, size())) {
    throw InputError("bytes.out_of_range",
                     Cat(name(), ": bytes ", offset, " + ", length, " lie outside; it has ", size(), " bytes"));
  }
}

StringSource::StringSource(std::string_view data, std::string name) : data_(data), name_(std::move(name)) {}

void StringSource::ReadInto(uint64_t offset, uint64_t length, char* out) const {
  CheckRange(offset, length);
  if (length > 0) std::memcpy(out, data_.data() + offset, length);
}

SliceSource::SliceSource(const Source& whole, uint64_t offset, uint64_t length)
    : whole_(whole), offset_(offset), length_(length) {
  if (!RangeFits(offset, length, whole.size())) {
    throw InputError("bytes.out_of_range", Cat(whole.name(), ": bytes ", offset, " + ", length, " lie outside; it has ",
                                               whole.size(), " bytes"));
  }
}

void SliceSource::ReadInto(uint64_t offset, uint64_t length, char* out) const {
  CheckRange(offset, length);
  whole_.ReadInto(offset_ + offset, length, out);
}

}  // namespace ck::bytes
