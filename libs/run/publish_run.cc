// A program that publishes a small checkpoint, for the tests that kill it, fault it (CK_FAULT) and race it.
//
//   publish_run [--no-fsync] [--counts] [--wait] OUT ITERATION|none     --wait: ends only when a signal asks it to stop
//   publish_run --keep OUT ITERATION|none                              prints the staged directory
//   publish_run --adopt STAGED OUT ITERATION|none
//   publish_run --gc ROOT                                              prints "removed PATH" and "kept PATH" lines
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/fault.h"
#include "libs/fs/read.h"
#include "libs/fs/write.h"
#include "libs/run/gc.h"
#include "libs/run/publish.h"
#include "libs/run/signals.h"

namespace ck::run {
namespace {

const char* const kFiles[] = {"__0_0.distcp", "tokenizer/vocab.json", ".metadata"};

std::string Content(const std::string& name) { return "content of " + name + "\n" + std::string(5000, 'x'); }

void WriteFile(const std::string& path, const std::string& content, fs::Durability durability) {
  const auto file = fs::OutputFile::Create(path);
  file->Allocate(content.size());
  file->WriteAt(0, content);
  if (durability == fs::Durability::kSync) file->Sync();
  file->Close();
}

void CheckContent(const std::string& directory) {
  for (const char* name : kFiles) {
    if (fs::ReadSmallFile(fs::JoinPath(directory, name), 10000) != Content(name)) throw InternalError("test.wrong_content", name);
  }
}

struct Arguments {
  bool counts = false, wait = false, keep = false, gc = false;
  std::string adopt;
  PublishOptions options;
  std::vector<std::string> operands;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--counts") {
      arguments.counts = true;
    } else if (word == "--wait") {
      arguments.wait = true;
    } else if (word == "--keep") {
      arguments.keep = true;
    } else if (word == "--gc") {
      arguments.gc = true;
    } else if (word == "--no-fsync") {
      arguments.options.durability = fs::Durability::kNoSync;
    } else if (word == "--adopt") {
      arguments.adopt = argv[++i];
    } else {
      arguments.operands.push_back(word);
    }
  }
  return arguments;
}

void Publish(const Arguments& arguments) {
  plan::TargetIteration iteration;
  if (const auto number = ParseInt64(arguments.operands.at(1))) iteration = *number;
  const Placement placement = Place(arguments.operands.at(0), iteration, Markers::kAllowed);
  CheckTarget(placement, {});
  std::unique_ptr<Staging> staging;
  if (!arguments.adopt.empty()) {
    staging = Staging::Adopt(arguments.adopt, placement, arguments.options);
  } else {
    staging = Staging::Begin(placement, arguments.options);
    for (const char* name : kFiles) WriteFile(staging->PathFor(name), Content(name), arguments.options.durability);
  }
  const auto verify = [&](const std::string& directory) {
    CheckContent(directory);
    if (!arguments.wait) return;
    std::puts("waiting");
    std::fflush(stdout);
    while (!StopRequested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  if (arguments.keep) {
    std::puts(staging->Keep(verify).c_str());
    return;
  }
  const Published published = staging->Commit(verify);
  if (!published.marker.warning.empty()) std::fprintf(stderr, "warning: %s\n", published.marker.warning.c_str());
  for (const std::string& warning : published.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (!arguments.counts) std::puts(published.path.c_str());
}

void PrintCounts() {
  for (int i = 0; i < fs::kOperationCount; ++i) {
    const auto operation = static_cast<fs::Operation>(i);
    std::printf("%s %d\n", fs::OperationName(operation), static_cast<int>(fs::OperationCount(operation)));
  }
}

int Main(int argc, char** argv) {
  InstallSignalHandlers();
  const Arguments arguments = Parse(argc, argv);
  try {
    if (arguments.gc) {
      const GcReport report = Gc(arguments.operands.at(0));
      for (const GcItem& item : report.removed) std::printf("removed %s\n", item.path.c_str());
      for (const GcItem& item : report.kept) std::printf("kept %s (%s)\n", item.path.c_str(), item.reason.c_str());
    } else {
      Publish(arguments);
    }
    if (arguments.counts) PrintCounts();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "publish_run: %s [%s]\n", error.what(), error.id().c_str());
    return static_cast<int>(error.code());
  }
}

}  // namespace
}  // namespace ck::run

int main(int argc, char** argv) { return ck::run::Main(argc, argv); }
