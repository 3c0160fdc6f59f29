#include <cmath>
#include <limits>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/json/value.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace ck::json {
namespace {

// RapidJSON checks the grammar and undoes escapes; this builds the value and holds the rules that RapidJSON lacks.
// Every handler returns false to stop, with the reason in `id` and `reason`.
class Builder {
 public:
  explicit Builder(Extensions extensions) : extensions_(extensions) {}

  bool Null() { return Add(nullptr); }
  bool Bool(bool v) { return Add(v); }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return CheckString({text, length}) && Add(std::string_view(text, length));
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool);
  bool StartObject() { return Open(Object()); }
  bool StartArray() { return Open(Array()); }
  bool Key(const char* text, rapidjson::SizeType length, bool);
  bool EndObject(rapidjson::SizeType) { return Close(); }
  bool EndArray(rapidjson::SizeType) { return Close(); }

  // RapidJSON asks for these too, but with numbers as text it never calls them.
  bool Int(int) { return Refuse("json.syntax", "unexpected number"); }
  bool Uint(unsigned) { return Int(0); }
  bool Int64(int64_t) { return Int(0); }
  bool Uint64(uint64_t) { return Int(0); }
  bool Double(double) { return Int(0); }

  Value root;
  std::string id;
  std::string reason;

 private:
  struct Frame {
    Value container;
    std::string key;  // of the member whose value comes next; objects only
  };

  bool Refuse(std::string_view error_id, std::string why) {
    id = error_id;
    reason = std::move(why);
    return false;
  }
  bool CheckString(std::string_view text);
  bool Open(Value container);
  bool Close();
  bool Add(Value value);

  Extensions extensions_;
  std::vector<Frame> frames_;
};

// The text is UTF-8, so a decoded string that is not comes from an escape.
bool Builder::CheckString(std::string_view text) {
  return IsUtf8(text) || Refuse("json.bad_utf8", "a \\u escape is half of a surrogate pair");
}

bool Builder::Open(Value container) {
  if (frames_.size() == kMaxDepth) return Refuse("json.too_deep", Cat("nested more than ", kMaxDepth, " levels deep"));
  frames_.push_back({std::move(container), {}});
  return true;
}

bool Builder::Close() {
  Value done = std::move(frames_.back().container);
  frames_.pop_back();
  return Add(std::move(done));
}

bool Builder::Add(Value value) {
  if (frames_.empty()) {
    root = std::move(value);
    return true;
  }
  Frame& frame = frames_.back();
  if (Array* array = frame.container.AsArray()) {
    array->push_back(std::move(value));
  } else {
    frame.container.AsObject()->Set(frame.key, std::move(value));
  }
  return true;
}

bool Builder::Key(const char* text, rapidjson::SizeType length, bool) {
  const std::string_view key(text, length);
  if (!CheckString(key)) return false;
  Frame& frame = frames_.back();
  if (frame.container.AsObject()->Find(key) != nullptr) {
    return Refuse("json.duplicate_key", Cat("the key ", Quote(key), " stands twice in one object"));
  }
  frame.key = key;
  return true;
}

bool Builder::RawNumber(const char* text, rapidjson::SizeType length, bool) {
  const std::string_view number(text, length);
  if (number.find_first_of(".eEIN") == std::string_view::npos) {
    if (const auto value = ParseInt64(number)) return Add(*value);
    if (const auto value = ParseUint64(number)) return Add(*value);
  }
  if (extensions_ == Extensions::kPythonNumbers) {
    if (number == "NaN") return Add(std::numeric_limits<double>::quiet_NaN());
    if (number == "Infinity") return Add(std::numeric_limits<double>::infinity());
    if (number == "-Infinity") return Add(-std::numeric_limits<double>::infinity());
  }
  if (number.find_first_of("IN") != std::string_view::npos) return Refuse("json.syntax", "Invalid value.");
  const auto value = ParseDouble(number);
  if (!value) return Refuse("json.syntax", "Invalid value.");
  if (!std::isfinite(*value)) {
    return Refuse("json.not_finite", Cat("the number ", Quote(number, 40), " is too large for a double"));
  }
  return Add(*value);
}

Error At(std::string id, uint64_t offset, std::string_view what) {
  return InputError(std::move(id), Cat("JSON, byte ", offset, ": ", what));
}

}  // namespace

Value Parse(std::string_view text, Extensions extensions) {
  if (text.size() > kMaxTextBytes) {
    throw InputError("json.too_long",
                     Cat("JSON text has ", text.size(), " bytes, at most ", kMaxTextBytes, " are read"));
  }
  // RapidJSON takes a NUL byte for the end of the text, which would hide what follows it.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos) throw At("json.syntax", nul, "a NUL byte");
  const size_t good = Utf8PrefixLength(text);
  if (good != text.size()) throw At("json.bad_utf8", good, "not UTF-8");

  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseFullPrecisionFlag | rapidjson::kParseNumbersAsStringsFlag;
  constexpr unsigned kPythonFlags = kFlags | rapidjson::kParseNanAndInfFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Builder builder(extensions);
  const rapidjson::ParseResult result = extensions == Extensions::kPythonNumbers
                                            ? reader.Parse<kPythonFlags>(stream, builder)
                                            : reader.Parse<kFlags>(stream, builder);
  if (!result.IsError()) return std::move(builder.root);
  if (!builder.id.empty()) throw At(builder.id, result.Offset(), builder.reason);
  if (result.Code() == rapidjson::kParseErrorNumberTooBig) {
    throw At("json.not_finite", result.Offset(), "a number too large for a double");
  }
  if (result.Code() == rapidjson::kParseErrorStringInvalidEncoding ||
      result.Code() == rapidjson::kParseErrorStringUnicodeSurrogateInvalid) {
    throw At("json.bad_utf8", result.Offset(), rapidjson::GetParseError_En(result.Code()));
  }
  throw At("json.syntax", result.Offset(), rapidjson::GetParseError_En(result.Code()));
}

}  // namespace ck::json
