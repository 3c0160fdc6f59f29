#include "libs/transform/common_warnings.h"

#include <string>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/megatron/common_document.h"
#include "libs/plan/documents.h"

namespace ck::transform {

void WarnAboutCommonState(View& view) {
  if (!view.common) return;
  const std::vector<std::string> refused = megatron::RefusedClasses(*view.common);
  if (refused.empty()) return;
  plan::Finding warning;
  warning.id = "common.refused_class";
  warning.severity = plan::Severity::kWarning;
  warning.message = Cat("the common state holds ", Join(refused, ", "),
                        ", which Megatron-Core refuses in a common.pt unless its weights-only load is switched off (the embedded form accepts it)");
  warning.where = "common.pt";
  view.warnings.push_back(std::move(warning));
}

}  // namespace ck::transform
