#include "gtest/gtest.h"

TEST(NegativeControl, MustFail) { FAIL() << "as it must"; }
