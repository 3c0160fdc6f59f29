#include "libs/base/plain_name.h"

#include <string>

#include "gtest/gtest.h"

namespace ck {
namespace {

TEST(PlainName, AcceptsOneComponent) {
  for (const std::string name : {"__0_0.distcp", "model-00001-of-00002.safetensors", "...", "..a", ".a", "a b", "\xC3\xA9"}) {
    EXPECT_TRUE(IsPlainName(name)) << name;
  }
}

TEST(PlainName, RefusesWhatLeavesTheDirectory) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("../a"), std::string("/etc/passwd"),
                                  std::string("a/../../b"), std::string("a/"), std::string("a\nb"),
                                  std::string("a\0b", 3), std::string("a\x7f")}) {
    EXPECT_FALSE(IsPlainName(name)) << name;
  }
}

}  // namespace
}  // namespace ck
