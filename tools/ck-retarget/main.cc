#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-retarget/options.h"
#include "tools/ck-retarget/retarget_tool.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::retarget::CommandLine(), argc, argv, streams, ck::retarget::Run);
}
