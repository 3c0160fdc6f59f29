#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-validate/options.h"
#include "tools/ck-validate/validate_tool.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::validate::CommandLine(), argc, argv, streams, ck::validate::Run);
}
