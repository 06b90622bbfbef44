// SPDX-License-Identifier: Apache-2.0
#include "rudder/train/blas.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/blas_control.h"

namespace rudder::train {
namespace {

TEST(BlasKernels, AreReplacedOnlyWhenTheyAreFarBelowTheProcessor) {
  EXPECT_EQ(better_kernels(VectorUnit::kAvx512, "Prescott"), "SkylakeX");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx2, "Prescott"), "Haswell");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx2, "Sandybridge"), "Haswell");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx512, "Haswell"), "");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx512, "Zen"), "");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx512, "SkylakeX"), "");
  EXPECT_EQ(better_kernels(VectorUnit::kNone, "Prescott"), "");
  EXPECT_EQ(better_kernels(VectorUnit::kAvx512, "reference"), "");
}

TEST(BlasKernels, NamesTheLibraryThatIsLoaded) {
  EXPECT_FALSE(blas_kernels().empty());
  EXPECT_NE(blas_kernels(), "none");
}

/// Prints what select_blas_kernels led to; run again by the test below as a program of its own.
TEST(BlasKernels, DISABLED_ReportAfterSelection) {
  const std::vector<std::string> arguments = {"--gtest_also_run_disabled_tests",
                                              "--gtest_filter=BlasKernels.DISABLED_ReportAfterSelection"};
  select_blas_kernels(arguments);
  EXPECT_EQ(better_kernels(vector_unit(), blas_kernels()), "");
  const char* chosen = std::getenv("EXPECTED_CORETYPE");
  if (chosen != nullptr) {
    EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), chosen);
  }
}

int run_report(const std::string& environment) {
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  return std::system(
      (environment + " '" + self +
       "' --gtest_also_run_disabled_tests --gtest_filter=BlasKernels.DISABLED_ReportAfterSelection "
       "> /dev/null")
          .c_str());
}

TEST(BlasKernels, AreAsWideAsTheProcessorAfterSelection) {
  EXPECT_EQ(run_report("env -u OPENBLAS_CORETYPE"), 0);
}

TEST(BlasKernels, StayTheOnesThatTheUserSet) {
  if (vector_unit() == VectorUnit::kNone) {
    GTEST_SKIP() << "no AVX2";
  }
  EXPECT_EQ(run_report("env OPENBLAS_CORETYPE=Haswell EXPECTED_CORETYPE=Haswell"), 0);
}

}  // namespace
}  // namespace rudder::train
