// Real files of torch for tests. Testonly.
#ifndef CK_TORCHSAVE_TESTING_FIXTURES_H_
#define CK_TORCHSAVE_TESTING_FIXTURES_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ck::torchsave::testing {

// The bytes of testdata/fixtures/NAME.
inline std::string Fixture(const std::string& name) {
  std::ifstream file("testdata/fixtures/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// The items of a .distcp file: zip archives in a row, cut behind their end records.
inline std::vector<std::string> Items(const std::string& distcp) {
  constexpr size_t kEndRecordBytes = 22;
  std::vector<std::string> items;
  for (size_t begin = 0; begin < distcp.size();) {
    const size_t end = distcp.find("PK\x05\x06", begin);
    if (end == std::string::npos) break;
    items.push_back(distcp.substr(begin, end + kEndRecordBytes - begin));
    begin = end + kEndRecordBytes;
  }
  return items;
}

}  // namespace ck::torchsave::testing

#endif  // CK_TORCHSAVE_TESTING_FIXTURES_H_
