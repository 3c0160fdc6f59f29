// JSON documents: strict reading, deterministic writing. RapidJSON stays behind this header.
//
// Reading  refuses duplicate keys, bad UTF-8, lone surrogates, non-finite numbers, depth over kMaxDepth, trailing text; never recurses.
// Numbers  An integer without '.' or exponent that fits int64 or uint64 stays an integer; everything else is a double, read correctly rounded.
// Writing  Members in the order given, shortest round-trip numbers, no trailing blanks; the same value always gives the same bytes.
// Errors.  json.syntax, json.duplicate_key, json.bad_utf8, json.not_finite, json.too_deep, json.too_long (kInput, with the byte offset).
#ifndef CK_JSON_VALUE_H_
#define CK_JSON_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ck::json {

inline constexpr size_t kMaxDepth = 64;                      // our documents nest 6 deep, a model's config.json some 10
inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30; // a listing of 10^6 tensors is some 200 MiB

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
// Members keep their order; keys are unique.
class Object {
 public:
  Object() = default;
  const Value* Find(std::string_view key) const;  // linear for small objects, indexed for large ones
  Value* Find(std::string_view key);
  // Replaces in place, else appends. Returns *this for chaining.
  Object& Set(std::string_view key, Value value);
  bool Erase(std::string_view key);
  size_t size() const { return members_.size(); }
  bool empty() const { return members_.empty(); }
  const std::vector<Member>& members() const { return members_; }
  friend bool operator==(const Object&, const Object&);

 private:
  std::vector<Member> members_;
};

enum class Type { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

class Value {
 public:
  Value() = default;  // null
  Value(std::nullptr_t) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(int64_t{v}) {}
  Value(int64_t v) : data_(v) {}
  Value(uint64_t v);  // kInt when it fits int64
  Value(double v) : data_(v) {}  // must be finite when written
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(Array v);
  Value(Object v);

  Type type() const;
  bool is_null() const { return type() == Type::kNull; }
  // nullopt / nullptr when the type does not fit. AsInt takes kInt, and kUint never fits it; AsUint takes both when not negative; AsDouble takes all numbers.
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  std::optional<uint64_t> AsUint() const;
  std::optional<double> AsDouble() const;
  const std::string* AsString() const;
  const Array* AsArray() const;
  Array* AsArray();
  const Object* AsObject() const;
  Object* AsObject();
  friend bool operator==(const Value&, const Value&);

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> data_;
};

// "string", "integer", "number", ...: for messages.
std::string_view TypeName(Type type);

// Extensions that real files need: bare NaN and Infinity (Python's json writes them into config.json).
enum class Extensions { kNone, kPythonNumbers };

Value Parse(std::string_view text, Extensions extensions = Extensions::kNone);

struct Style {
  int indent = 0;         // 0: one line without blanks
  bool final_newline = true;
};

// A string that is not UTF-8 is an InternalError json.bad_utf8 (callers escape foreign names first); a non-finite double too.
std::string Write(const Value& value, const Style& style = {});

// Bytes that may not be UTF-8, made so: each bad byte becomes the four characters "\xNN". For showing foreign names.
std::string ToUtf8(std::string_view bytes);

}  // namespace ck::json

#endif  // CK_JSON_VALUE_H_
