// Starts publish_run (publish_run.cc) from a test.
#ifndef CK_RUN_PUBLISH_PROCESS_H_
#define CK_RUN_PUBLISH_PROCESS_H_

#include <string>
#include <vector>

#include <sys/types.h>

namespace ck::run {

struct Outcome {
  int status = 0;  // the exit code, or minus the number of the signal that ended it
  std::string out;
  std::string err;
  std::string Tail() const;  // the id at the end of stderr: "publish.claimed", or ""
};

// One running process. Its outputs are pipes that are read by Wait.
class Process {
 public:
  // `fault` is the value of CK_FAULT, or empty.
  explicit Process(const std::vector<std::string>& arguments, const std::string& fault = "");
  // Reads one line of its stdout.
  std::string ReadLine();
  void Send(int signal_number) const;
  Outcome Wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

inline Outcome RunProgram(const std::vector<std::string>& arguments, const std::string& fault = "") { return Process(arguments, fault).Wait(); }

// "" when `directory` holds exactly what publish_run writes, else what is wrong with it.
std::string Incomplete(const std::string& directory);

// All names under `root` that look unfinished, recursively.
std::vector<std::string> HiddenNames(const std::string& root);

}  // namespace ck::run

#endif  // CK_RUN_PUBLISH_PROCESS_H_
