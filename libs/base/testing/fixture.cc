#include "libs/base/testing/fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace ck::testing {

std::string ReadFixture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read fixture " + path + ": is its filegroup in the data of the test?");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> ListFixtures(const std::string& directory, const std::string& suffix) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string path = entry.path().string();
    const std::string name = entry.path().filename().string();
    const bool ends = name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
    if (entry.is_regular_file() && ends) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ck::testing
