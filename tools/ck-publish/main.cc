#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-publish/publish_tool.h"
#include "tools/ck-publish/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::publish::CommandLine(), argc, argv, streams, ck::publish::Run);
}
