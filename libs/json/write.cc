#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/json/value.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/rapidjson.h"
#include "rapidjson/writer.h"

namespace ck::json {
namespace {

// RapidJSON's idea of a stream, over a string.
struct StringOutput {
  using Ch = char;
  std::string& text;
  void Put(char c) { text.push_back(c); }
  void Flush() {}
};

using CompactWriter = rapidjson::Writer<StringOutput>;
using IndentingWriter = rapidjson::PrettyWriter<StringOutput>;

// RapidJSON stops quietly at what it cannot write; nothing may be lost that way.
void Written(bool ok) { Check(ok, "the JSON writer took a value"); }

rapidjson::SizeType Length(std::string_view text) { return static_cast<rapidjson::SizeType>(text.size()); }

// RapidJSON 1.1 cannot check the encoding in its PrettyWriter.
void CheckString(std::string_view text) {
  if (!IsUtf8(text)) {
    throw InternalError("json.bad_utf8", Cat("a string to be written as JSON is not UTF-8: ", Quote(text)));
  }
  Check(text.size() <= kMaxTextBytes, "a JSON string is shorter than kMaxTextBytes");
}

std::string NumberText(double value, Extensions extensions) {
  if (std::isfinite(value)) return FormatDouble(value);
  if (extensions != Extensions::kPythonNumbers) {
    throw InternalError("json.not_finite", "a number to be written as JSON is not finite");
  }
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

template <typename Writer>
void WriteScalar(Writer& writer, const Value& value, Extensions extensions) {
  switch (value.type()) {
    case Type::kNull: return Written(writer.Null());
    case Type::kBool: return Written(writer.Bool(*value.AsBool()));
    case Type::kInt: return Written(writer.Int64(*value.AsInt()));
    case Type::kUint: return Written(writer.Uint64(*value.AsUint()));
    case Type::kDouble: {
      const std::string text = NumberText(*value.AsDouble(), extensions);
      return Written(writer.RawValue(text.data(), text.size(), rapidjson::kNumberType));
    }
    case Type::kString: {
      const std::string& text = *value.AsString();
      CheckString(text);
      return Written(writer.String(text.data(), Length(text)));
    }
    case Type::kArray:
    case Type::kObject: break;
  }
  Check(false, "a scalar");
}

// An array or object being written, and how many of its values are done.
struct Frame {
  const Array* array;
  const Object* object;
  size_t next = 0;
};

template <typename Writer>
void WriteAll(Writer& writer, const Value& root, Extensions extensions) {
  std::vector<Frame> frames;
  const auto begin = [&](const Value& value) {
    const Frame frame = {value.AsArray(), value.AsObject()};
    if (frame.array == nullptr && frame.object == nullptr) return WriteScalar(writer, value, extensions);
    if (frames.size() == kMaxDepth) {
      throw InternalError("json.too_deep",
                          Cat("a value to be written as JSON nests more than ", kMaxDepth, " levels deep"));
    }
    Written(frame.array != nullptr ? writer.StartArray() : writer.StartObject());
    frames.push_back(frame);
  };
  begin(root);
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const size_t size = frame.array != nullptr ? frame.array->size() : frame.object->size();
    if (frame.next == size) {
      Written(frame.array != nullptr ? writer.EndArray() : writer.EndObject());
      frames.pop_back();
    } else if (frame.array != nullptr) {
      begin((*frame.array)[frame.next++]);
    } else {
      const Member& member = frame.object->members()[frame.next++];
      CheckString(member.first);
      Written(writer.Key(member.first.data(), Length(member.first)));
      begin(member.second);
    }
  }
}

}  // namespace

std::string Write(const Value& value, const Style& style) {
  std::string text;
  StringOutput output{text};
  if (style.indent > 0) {
    IndentingWriter writer(output);
    writer.SetIndent(' ', static_cast<unsigned>(style.indent));
    WriteAll(writer, value, style.extensions);
  } else {
    CompactWriter writer(output);
    WriteAll(writer, value, style.extensions);
  }
  if (style.final_newline) text += '\n';
  return text;
}

std::string LibraryVersion() { return "RapidJSON " RAPIDJSON_VERSION_STRING; }

}  // namespace ck::json
