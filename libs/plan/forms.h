// The forms of text that a plan holds, checked where it is read and where it is written.
#ifndef CK_PLAN_FORMS_H_
#define CK_PLAN_FORMS_H_

#include <string>
#include <string_view>

#include "libs/base/error.h"

namespace ck::plan::internal {

// A path without ".", "..", "//" and final "/". Lexical: links are not looked at. `where` is the JSON path, for
// messages. Errors: plan.bad_path unless it is absolute and free of NUL bytes.
std::string CleanPath(std::string_view path, std::string_view where);

bool IsSha256(std::string_view text);

// "steps[1].pattern: WHAT", or only WHAT for the document itself.
Error PlanError(std::string id, std::string_view where, std::string_view what);

}  // namespace ck::plan::internal

#endif  // CK_PLAN_FORMS_H_
