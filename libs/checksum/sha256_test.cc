#include "libs/checksum/sha256.h"

#include "gtest/gtest.h"

namespace ck {
namespace {

TEST(Sha256, GivesThePublishedHashes) {
  const struct {
    std::string input, hash;
  } kCases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& test : kCases) EXPECT_EQ(Sha256Of(test.input), test.hash) << test.input.size() << " bytes";
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(i * 7));
  const std::string whole = Sha256Of(bytes);
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Sha256 hash;
    for (size_t at = 0; at < bytes.size(); at += step) hash.Update(std::string_view(bytes).substr(at, step));
    EXPECT_EQ(hash.Finish(), whole) << "pieces of " << step;
  }
}

TEST(Sha256, PadsEveryLengthAroundABlock) {
  std::string previous;
  for (size_t length = 50; length <= 130; ++length) {
    const std::string hash = Sha256Of(std::string(length, '\0'));
    EXPECT_EQ(hash.size(), 64u);
    EXPECT_NE(hash, previous) << length;
    previous = hash;
  }
}

}  // namespace
}  // namespace ck
