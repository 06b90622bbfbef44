// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/lp.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rudder/core/rng.h"

namespace rudder::place {
namespace {

using testing::HasSubstr;

TEST(Eq2Program, SaysEachRuleOnce) {
  const std::string text = eq2_program(std::vector<std::int32_t>{2, 3}, {1, 2}, 0.25).value();
  EXPECT_EQ(text,
            "Minimize\n cost: 0.25 Q + 0.75 S\nSubject To\n"
            " cell_0_0: x_0_0_0 + x_0_0_1 = 1\n"
            " row_0_0_0: x_0_0_0 - u_0_0 <= 0\n column_0_0_0: x_0_0_0 - w_0_0 <= 0\n"
            " row_0_0_1: x_0_0_1 - u_0_1 <= 0\n column_0_0_1: x_0_0_1 - w_0_1 <= 0\n"
            " cell_0_1: x_0_1_0 + x_0_1_1 = 1\n"
            " row_0_1_0: x_0_1_0 - u_0_0 <= 0\n column_0_1_0: x_0_1_0 - w_1_0 <= 0\n"
            " row_0_1_1: x_0_1_1 - u_0_1 <= 0\n column_0_1_1: x_0_1_1 - w_1_1 <= 0\n"
            " capacity_0: x_0_0_0\n + x_0_1_0\n <= 2\n capacity_1: x_0_0_1\n + x_0_1_1\n <= 3\n"
            " spread_u_0: u_0_0 + u_0_1 - S <= 0\n"
            " spread_w_0: w_0_0 + w_0_1 - Q <= 0\n spread_w_1: w_1_0 + w_1_1 - Q <= 0\n"
            "Binary\n u_0_0\n u_0_1\n w_0_0\n w_0_1\n w_1_0\n w_1_1\nEnd\n");
}

TEST(LpPrograms, RejectWhatCannotBeWritten) {
  const std::vector<std::int32_t> many(2000, 1);
  EXPECT_EQ(eq2_program(many, {40, 40}, 0.5).error().code, Errc::kResource);
  EXPECT_EQ(eq2_program(many, {4, 4}, 2).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(eq4_program(std::vector<std::int32_t>{1}, {4, 4}, Unit::kPipeline, 0.5).error().code,
            Errc::kResource);
}

class Solver : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v glpsol >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "glpsol (package glpk-utils) is not installed";
    }
    folder_ = std::filesystem::path(testing::TempDir()) / ("lp" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The optimum that the solver proves within ten seconds.
  std::optional<double> optimum(const std::string& program) {
    const std::string model = (folder_ / "model.lp").string();
    const std::string answer = (folder_ / "answer").string();
    std::ofstream(model) << program;
    const std::string command = "glpsol --tmlim 10 --lp " + model + " -o " + answer + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
      return std::nullopt;
    }
    std::ifstream file(answer);
    bool proved = false;
    for (std::string line; std::getline(file, line);) {
      proved = proved || line.find("INTEGER OPTIMAL") != std::string::npos;
      const auto equals = line.find(" = ");
      if (proved && line.rfind("Objective:", 0) == 0 && equals != std::string::npos) {
        return std::stod(line.substr(equals + 3));
      }
    }
    return std::nullopt;
  }

  std::filesystem::path folder_;
};

struct Small {
  Grid grid;
  std::vector<std::int32_t> capacities;
};

TEST_F(Solver, ProvesTheFrontiersOfSmallGrids) {
  const std::vector<Small> problems = {{{2, 2}, {1, 1, 1, 1}},
                                       {{2, 4}, {3, 3, 3}},
                                       {{3, 3}, {5, 4}},
                                       {{4, 2}, {3, 3, 3}},
                                       {{6, 2}, {6, 6, 6}}};
  for (const Small& problem : problems) {
    for (const double alpha : {0.2, 0.5, 0.8}) {
      const auto proved = optimum(eq2_program(problem.capacities, problem.grid, alpha).value());
      ASSERT_TRUE(proved.has_value());
      const Result<Frontier> frontier = solve_frontier(problem.capacities, problem.grid);
      EXPECT_NEAR(frontier->lower_bound(alpha), *proved, 1e-6);
      const Spread best = frontier->best(alpha).spread;
      EXPECT_NEAR(alpha * best.Q + (1 - alpha) * best.S, *proved, 1e-6);
    }
  }
}

TEST_F(Solver, ProvesTheClosedFormOfEq4) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CounterRng rng({seed, 23});
    Small problem{{3 + static_cast<std::int32_t>(rng.below(3)), 2 + static_cast<std::int32_t>(rng.below(3))},
                  {}};
    std::int64_t total = 0;
    while (total < problem.grid.cells()) {
      problem.capacities.push_back(problem.grid.columns - 1 + static_cast<std::int32_t>(rng.below(6)));
      total += problem.capacities.back();
    }
    const double alpha = 0.1 + 0.2 * static_cast<double>(seed % 4);
    const GroupOptimum closed =
        group_optimum(problem.capacities, problem.grid, Unit::kPipeline, alpha).value();
    ASSERT_TRUE(closed.proved);
    const auto proved =
        optimum(eq4_program(problem.capacities, problem.grid, Unit::kPipeline, alpha).value());
    ASSERT_TRUE(proved.has_value()) << seed;
    EXPECT_NEAR(closed.objective, *proved, 1e-6) << seed;
  }
}

}  // namespace
}  // namespace rudder::place
