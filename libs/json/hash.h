// SipHash-1-3 of a key under a secret of this process, so that a hostile document cannot choose keys that collide.
#ifndef CK_JSON_HASH_H_
#define CK_JSON_HASH_H_

#include <cstdint>
#include <string_view>

namespace ck::json {

uint64_t HashKey(std::string_view key);

}  // namespace ck::json

#endif  // CK_JSON_HASH_H_
