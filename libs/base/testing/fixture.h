// Files under testdata/ for tests. A test names the filegroup in its `data`. A missing file fails the test with std::runtime_error.
#ifndef CK_BASE_TESTING_FIXTURE_H_
#define CK_BASE_TESTING_FIXTURE_H_

#include <string>
#include <vector>

namespace ck::testing {

// The bytes of a file; `path` is relative to the root of the repository, e.g. "testdata/fixtures/t214_basic/.metadata".
std::string ReadFixture(const std::string& path);

// Regular files below `directory` whose name ends in `suffix`, as paths from the root of the repository, sorted.
std::vector<std::string> ListFixtures(const std::string& directory, const std::string& suffix);

}  // namespace ck::testing

#endif  // CK_BASE_TESTING_FIXTURE_H_
