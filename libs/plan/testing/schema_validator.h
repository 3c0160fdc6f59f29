// Checks documents against the part of JSON Schema 2020-12 that docs/schemas uses. For tests only.
//
// Keywords type, const, enum, required, properties, additionalProperties (a boolean), items, oneOf, anyOf, minimum,
//          $ref to "#/$defs/NAME"; $schema, title, description, default and $defs say nothing about a document. Any
//          other keyword is refused when the schema is loaded, so that a rule cannot be passed over in silence.
// Numbers  1.0 is an integer, as JSON Schema has it (for the tools' own decoder it is not one).
#ifndef CK_PLAN_TESTING_SCHEMA_VALIDATOR_H_
#define CK_PLAN_TESTING_SCHEMA_VALIDATOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "libs/json/value.h"

namespace ck::plan::testing {

class SchemaValidator {
 public:
  // Throws InternalError schema.unsupported for a keyword, type or reference outside the subset.
  explicit SchemaValidator(json::Value schema);
  // docs/schemas/NAME.schema.json; the test needs //docs/schemas in its data.
  static SchemaValidator Load(std::string_view name);

  // What breaks the schema, one line each with the JSON path: "inputs[0].weight: found string, expected number". Empty:
  // valid.
  std::vector<std::string> Violations(const json::Value& document) const;

 private:
  json::Value schema_;
};

}  // namespace ck::plan::testing

#endif  // CK_PLAN_TESTING_SCHEMA_VALIDATOR_H_
