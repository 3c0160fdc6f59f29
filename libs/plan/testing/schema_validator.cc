#include "libs/plan/testing/schema_validator.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::plan::testing {
namespace {

constexpr std::string_view kReferencePrefix = "#/$defs/";

Error Unsupported(std::string_view where, std::string_view what) {
  return InternalError("schema.unsupported", Cat("schema at '", where, "': ", what));
}

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::vector<std::string> TypeWords(const json::Value& value, std::string_view where) {
  static const std::vector<std::string> kWords = {"null", "boolean", "integer", "number", "string", "array", "object"};
  std::vector<std::string> words;
  if (const std::string* word = value.AsString()) words.push_back(*word);
  if (const json::Array* list = value.AsArray()) {
    for (const json::Value& item : *list) words.push_back(item.AsString() == nullptr ? "?" : *item.AsString());
  }
  if (words.empty()) throw Unsupported(where, "'type' without a type");
  for (const std::string& word : words) {
    if (!Contains(kWords, word)) throw Unsupported(where, Cat("unknown type ", Quote(word)));
  }
  return words;
}

const json::Value& Need(const json::Value* value, std::string_view where) {
  if (value == nullptr) throw Unsupported(where, "missing");
  return *value;
}

const json::Object& NeedObject(const json::Value& value, std::string_view where) {
  if (value.AsObject() == nullptr) throw Unsupported(where, "expected an object");
  return *value.AsObject();
}

const json::Array& NeedArray(const json::Value& value, std::string_view where) {
  if (value.AsArray() == nullptr) throw Unsupported(where, "expected an array");
  return *value.AsArray();
}

const json::Object& Resolve(const json::Object& root, const json::Value& reference, std::string_view where) {
  const std::string* text = reference.AsString();
  if (text == nullptr || !StartsWith(*text, kReferencePrefix)) throw Unsupported(where, "a reference outside $defs");
  const json::Object& definitions = NeedObject(Need(root.Find("$defs"), where), where);
  return NeedObject(Need(definitions.Find(text->substr(kReferencePrefix.size())), where), where);
}

// Recursion in this file is on the schema and on a document no deeper than json::kMaxDepth.
void CheckSchema(const json::Object& root, const json::Value& value, const std::string& where) {
  static const std::vector<std::string> kSaysNothing = {"$schema", "title", "description", "default", "const"};
  const json::Object& schema = NeedObject(value, where);
  for (const auto& [keyword, argument] : schema.members()) {
    const std::string here = Cat(where, "/", keyword);
    if (Contains(kSaysNothing, keyword)) continue;
    if (keyword == "type") {
      TypeWords(argument, here);
    } else if (keyword == "enum") {
      NeedArray(argument, here);
    } else if (keyword == "minimum") {
      if (!argument.AsDouble()) throw Unsupported(here, "expected a number");
    } else if (keyword == "required") {
      for (const json::Value& name : NeedArray(argument, here)) {
        const json::Object& properties = NeedObject(Need(schema.Find("properties"), here), here);
        if (name.AsString() == nullptr || properties.Find(*name.AsString()) == nullptr) {
          throw Unsupported(here, "not a property");
        }
      }
    } else if (keyword == "additionalProperties") {
      if (!argument.AsBool()) throw Unsupported(here, "expected a boolean");
    } else if (keyword == "$ref") {
      Resolve(root, argument, here);
    } else if (keyword == "items") {
      CheckSchema(root, argument, here);
    } else if (keyword == "oneOf" || keyword == "anyOf") {
      for (const json::Value& branch : NeedArray(argument, here)) CheckSchema(root, branch, here);
    } else if (keyword == "properties" || keyword == "$defs") {
      for (const json::Member& member : NeedObject(argument, here).members()) {
        CheckSchema(root, member.second, Cat(here, "/", member.first));
      }
    } else {
      throw Unsupported(where, Cat("unknown keyword ", Quote(keyword)));
    }
  }
}

bool HasType(const json::Value& value, std::string_view word) {
  const std::string_view type = json::TypeName(value.type());
  if (word == "integer" && value.AsDouble()) return *value.AsDouble() == std::floor(*value.AsDouble());
  return type == word || (word == "number" && type == "integer");
}

class Walk {
 public:
  explicit Walk(const json::Object& root) : root_(root) {}

  void Check(const json::Object& schema, const json::Value& value, const std::string& where) {
    if (const json::Value* reference = schema.Find("$ref")) Check(Resolve(root_, *reference, where), value, where);
    CheckValue(schema, value, where);
    CheckBranches(schema, value, where);
    if (value.AsObject() != nullptr) CheckMembers(schema, *value.AsObject(), where);
    if (const json::Value* items = schema.Find("items"); items != nullptr && value.AsArray() != nullptr) {
      size_t i = 0;
      for (const json::Value& item : *value.AsArray()) Check(*items->AsObject(), item, Cat(where, "[", i++, "]"));
    }
  }

  std::vector<std::string> violations;

 private:
  void Add(const std::string& where, const std::string& what) {
    violations.push_back(Cat(where.empty() ? "document" : where, ": ", what));
  }

  void CheckValue(const json::Object& schema, const json::Value& value, const std::string& where) {
    if (const json::Value* type = schema.Find("type")) {
      const std::vector<std::string> words = TypeWords(*type, where);
      const bool fits =
          std::any_of(words.begin(), words.end(), [&](const std::string& word) { return HasType(value, word); });
      if (!fits) Add(where, Cat("found ", json::TypeName(value.type()), ", expected ", Join(words, " or ")));
    }
    if (const json::Value* constant = schema.Find("const"); constant != nullptr && !(*constant == value)) {
      Add(where, Cat("expected ", json::Write(*constant, {.final_newline = false})));
    }
    if (const json::Value* list = schema.Find("enum")) {
      const json::Array& words = *list->AsArray();
      if (std::find(words.begin(), words.end(), value) == words.end()) {
        Add(where, Cat("expected one of ", json::Write(*list, {.final_newline = false})));
      }
    }
    const json::Value* minimum = schema.Find("minimum");
    if (minimum != nullptr && value.AsDouble() && *value.AsDouble() < *minimum->AsDouble()) {
      Add(where, "less than the minimum");
    }
  }

  size_t CountMatches(const json::Array& branches, const json::Value& value) const {
    return static_cast<size_t>(std::count_if(branches.begin(), branches.end(), [&](const json::Value& branch) {
      Walk walk(root_);
      walk.Check(*branch.AsObject(), value, "");
      return walk.violations.empty();
    }));
  }

  void CheckBranches(const json::Object& schema, const json::Value& value, const std::string& where) {
    if (const json::Value* one_of = schema.Find("oneOf")) {
      const size_t matches = CountMatches(*one_of->AsArray(), value);
      if (matches != 1) Add(where, Cat(matches, " alternatives of oneOf match, expected 1"));
    }
    if (const json::Value* any_of = schema.Find("anyOf");
        any_of != nullptr && CountMatches(*any_of->AsArray(), value) == 0) {
      Add(where, "no alternative of anyOf matches");
    }
  }

  void CheckMembers(const json::Object& schema, const json::Object& object, const std::string& where) {
    if (const json::Value* required = schema.Find("required")) {
      for (const json::Value& name : *required->AsArray()) {
        if (object.Find(*name.AsString()) == nullptr) {
          Add(where, Cat("the member ", Quote(*name.AsString()), " is missing"));
        }
      }
    }
    const json::Value* properties = schema.Find("properties");
    const json::Value* additional = schema.Find("additionalProperties");
    for (const json::Member& member : object.members()) {
      const std::string here = where.empty() ? member.first : Cat(where, ".", member.first);
      const json::Value* property = properties == nullptr ? nullptr : properties->AsObject()->Find(member.first);
      if (property != nullptr) {
        Check(*property->AsObject(), member.second, here);
      } else if (additional != nullptr && !*additional->AsBool()) {
        Add(here, "unknown member");
      }
    }
  }

  const json::Object& root_;
};

}  // namespace

SchemaValidator::SchemaValidator(json::Value schema) : schema_(std::move(schema)) {
  CheckSchema(NeedObject(schema_, ""), schema_, "");
}

SchemaValidator SchemaValidator::Load(std::string_view name) {
  const std::string path = Cat("docs/schemas/", name, ".schema.json");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InternalError("schema.missing", Cat("no ", path));
  return SchemaValidator(
      json::Parse(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>())));
}

std::vector<std::string> SchemaValidator::Violations(const json::Value& document) const {
  Walk walk(*schema_.AsObject());
  walk.Check(*schema_.AsObject(), document, "");
  return walk.violations;
}

}  // namespace ck::plan::testing
