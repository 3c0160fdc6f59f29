// Names of files that carrying out a plan leaves beside the data.
#ifndef CK_RUN_FILE_NAMES_H_
#define CK_RUN_FILE_NAMES_H_

namespace ck::run {

inline constexpr const char* kPlanFile = "ck-plan.json";                         // in the result
inline constexpr const char* kMarkerFile = "latest_checkpointed_iteration.txt";  // in the root

}  // namespace ck::run

#endif  // CK_RUN_FILE_NAMES_H_
