// JSON documents: strict reading, deterministic writing. RapidJSON stays behind this header.
//
// Reading  refuses duplicate keys, bad UTF-8, lone surrogates, non-finite numbers, depth over kMaxDepth, trailing text;
//          never recurses.
// Numbers  An integer without '.' or exponent that fits int64 or uint64 stays an integer; everything else is a double,
//          read correctly rounded; what is too large for a double is refused as not finite.
// Writing  Members in the order given, shortest round-trip numbers, no trailing blanks; the same value always gives the
//          same bytes.
// Errors.  json.syntax, json.duplicate_key, json.bad_utf8, json.not_finite, json.too_deep, json.too_long (kInput, with
//          the byte offset).
// Source.  RFC 8259.
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

inline constexpr size_t kMaxDepth = 64;  // our documents nest 6 deep, a model's config.json some 10
inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;  // a listing of 10^6 tensors is some 200 MiB

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;
// Members keep their order; keys are unique.
class Object {
 public:
  const Value* Find(std::string_view key) const;  // linear for small objects, indexed for large ones
  Value* Find(std::string_view key);
  // Replaces in place, else appends. Returns *this for chaining.
  Object& Set(std::string_view key, Value value);
  bool Erase(std::string_view key);
  size_t size() const;
  bool empty() const;
  const std::vector<Member>& members() const { return members_; }
  // The order of members does not matter.
  friend bool operator==(const Object&, const Object&);

 private:
  void AddToIndex(size_t position);
  void RebuildIndex();

  std::vector<Member> members_;
  // Hash table of positions in members_, plus one; 0 is a free slot. Empty while the object is small.
  std::vector<uint32_t> slots_;
};

enum class Type { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

class Value {
 public:
  Value() = default;  // null
  Value(std::nullptr_t) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(int64_t{v}) {}
  Value(int64_t v) : data_(v) {}
  Value(uint64_t v);             // kInt when it fits int64
  Value(double v) : data_(v) {}  // must be finite when written
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(Array v);
  Value(Object v);

  Type type() const;
  bool is_null() const { return type() == Type::kNull; }
  // nullopt / nullptr when the type does not fit. AsInt takes kInt, and kUint never fits it; AsUint takes both when not
  // negative; AsDouble takes all numbers.
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

// Here because Member is complete only now.
inline size_t Object::size() const { return members_.size(); }
inline bool Object::empty() const { return members_.empty(); }

// "string", "integer", "number", ...: for messages.
std::string_view TypeName(Type type);

// Extensions that real files need: bare NaN and Infinity (Python's json writes them into config.json).
enum class Extensions { kNone, kPythonNumbers };

Value Parse(std::string_view text, Extensions extensions = Extensions::kNone);

struct Style {
  int indent = 0;  // 0: one line without blanks
  bool final_newline = true;
  Extensions extensions = Extensions::kNone;  // kPythonNumbers: NaN and Infinity are written as Python does
};

// A value that has no text is a bug of the caller, an InternalError: a string that is not UTF-8 (json.bad_utf8; escape
// foreign names with ToUtf8 first), a non-finite double (json.not_finite), more than kMaxDepth levels (json.too_deep).
std::string Write(const Value& value, const Style& style = {});

// "RapidJSON 1.1.0": for --version.
std::string LibraryVersion();

// Bytes that may not be UTF-8, made so: each bad byte becomes the four characters "\xNN". For showing foreign names.
std::string ToUtf8(std::string_view bytes);

}  // namespace ck::json

#endif  // CK_JSON_VALUE_H_
