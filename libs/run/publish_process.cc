#include "libs/run/publish_process.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace ck::run {
namespace {

std::string Drain(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
  close(fd);
  return text;
}

// Bazel runs a test in the root of its runfiles.
const char* Program() { return "libs/run/publish_run"; }

}  // namespace

std::string Outcome::Tail() const {
  const size_t open = err.rfind(" ["), close = err.rfind("]\n");
  if (open == std::string::npos || close == std::string::npos || close + 2 != err.size()) return "";
  return err.substr(open + 2, close - open - 2);
}

Process::Process(const std::vector<std::string>& arguments, const std::string& fault) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<char*> words = {const_cast<char*>(Program())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  std::string setting = "CK_FAULT=" + fault;
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at) environment.push_back(*at);
  environment.push_back(setting.data());
  environment.push_back(nullptr);
  if (posix_spawn(&pid_, Program(), &actions, nullptr, words.data(), environment.data()) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

std::string Process::ReadLine() {
  std::string line;
  for (char c; read(out_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void Process::Send(int signal_number) const { kill(pid_, signal_number); }

Outcome Process::Wait() {
  Outcome outcome;
  outcome.out = Drain(out_);
  outcome.err = Drain(err_);
  int status = 0;
  waitpid(pid_, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

std::string Incomplete(const std::string& directory) {
  std::map<std::string, std::string> missing;
  for (const char* name : {"__0_0.distcp", "tokenizer/vocab.json", ".metadata"}) {
    missing[name] = std::string("content of ") + name + "\n" + std::string(5000, 'x');
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_directory()) continue;
    const std::string name = std::filesystem::relative(entry.path(), directory).string();
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto expected = missing.find(name);
    if (expected == missing.end()) return name + " is not expected";
    if (expected->second != content) return name + " has another content";
    missing.erase(expected);
  }
  return missing.empty() ? "" : missing.begin()->first + " is missing";
}

std::vector<std::string> HiddenNames(const std::string& root) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename().string().find(".ck-") != std::string::npos) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ck::run
