// ck-publish: the last verb. Carries plans out, copies checkpoints, publishes staged ones, removes what dead runs left.
//
// Errors. Those of libs/run/carry_out.h, publish.h and gc.h, libs/plan, libs/checkpoint/discover.h.
// Manual. docs/manual/ck-publish.md, docs/manual/publication.md.
#ifndef CK_TOOLS_CK_PUBLISH_PUBLISH_TOOL_H_
#define CK_TOOLS_CK_PUBLISH_PUBLISH_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::publish {

int Run(cli::Context& context);

}  // namespace ck::publish

#endif  // CK_TOOLS_CK_PUBLISH_PUBLISH_TOOL_H_
