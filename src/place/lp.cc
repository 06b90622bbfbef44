// SPDX-License-Identifier: Apache-2.0
#include "rudder/place/lp.h"

#include <iterator>

#include <fmt/format.h>

#include "place/solver.h"

namespace rudder::place {
namespace {

constexpr std::int64_t kMaxShares = 1'000'000;

class Program {
 public:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }
  [[nodiscard]] std::string take() { return fmt::to_string(text_); }

 private:
  fmt::memory_buffer text_;
};

Status check(std::span<const std::int32_t> capacities, Grid grid, double alpha, std::int64_t lines) {
  RUDDER_TRY(canonical(capacities, grid));
  if (!(alpha >= 0 && alpha <= 1)) {
    return Error{Errc::kInvalidArgument, fmt::format("alpha is {}; 0 to 1", alpha)};
  }
  const auto minipods = static_cast<std::int64_t>(capacities.size());
  if (lines > kMaxShares / minipods) {
    return Error{Errc::kResource,
                 fmt::format("a program of {} x {} shares; at most {}", lines, minipods, kMaxShares)};
  }
  return {};
}

/// "a_0 + a_1 + ...", each with `prefix` in front of its index.
void sum(Program& program, std::string_view prefix, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    program.add("{}{}{}", k == 0 ? "" : " + ", prefix, k);
  }
}

void binaries(Program& program, std::string_view name, std::int32_t lines, std::size_t minipods) {
  for (std::int32_t i = 0; i < lines; ++i) {
    for (std::size_t k = 0; k < minipods; ++k) {
      program.add(" {}_{}_{}\n", name, i, k);
    }
  }
}

/// Each line's minipods are at most the maximum.
void spread_rows(Program& program, std::string_view name, std::string_view maximum, std::int32_t lines,
                 std::size_t minipods) {
  for (std::int32_t i = 0; i < lines; ++i) {
    program.add(" spread_{}_{}: ", name, i);
    sum(program, fmt::format("{}_{}_", name, i), minipods);
    program.add(" - {} <= 0\n", maximum);
  }
}

}  // namespace

Result<std::string> eq2_program(std::span<const std::int32_t> capacities, Grid grid, double alpha) {
  RUDDER_TRY(check(capacities, grid, alpha, grid.cells()));
  const std::size_t minipods = capacities.size();
  Program program;
  program.add("Minimize\n cost: {:.17g} Q + {:.17g} S\nSubject To\n", alpha, 1 - alpha);
  for (std::int32_t i = 0; i < grid.rows; ++i) {
    for (std::int32_t j = 0; j < grid.columns; ++j) {
      program.add(" cell_{}_{}: ", i, j);
      sum(program, fmt::format("x_{}_{}_", i, j), minipods);
      program.add(" = 1\n");
      for (std::size_t k = 0; k < minipods; ++k) {
        program.add(" row_{0}_{1}_{2}: x_{0}_{1}_{2} - u_{0}_{2} <= 0\n", i, j, k);
        program.add(" column_{0}_{1}_{2}: x_{0}_{1}_{2} - w_{1}_{2} <= 0\n", i, j, k);
      }
    }
  }
  for (std::size_t k = 0; k < minipods; ++k) {
    program.add(" capacity_{}:", k);
    for (std::int32_t i = 0; i < grid.rows; ++i) {
      for (std::int32_t j = 0; j < grid.columns; ++j) {
        program.add("{} x_{}_{}_{}\n", i + j == 0 ? "" : " +", i, j, k);
      }
    }
    program.add(" <= {}\n", capacities[k]);
  }
  spread_rows(program, "u", "S", grid.rows, minipods);
  spread_rows(program, "w", "Q", grid.columns, minipods);
  program.add("Binary\n");
  binaries(program, "u", grid.rows, minipods);
  binaries(program, "w", grid.columns, minipods);
  program.add("End\n");
  return program.take();
}

Result<std::string> eq4_program(std::span<const std::int32_t> capacities, Grid grid, Unit unit,
                                double alpha) {
  const std::int32_t groups = unit == Unit::kPipeline ? grid.rows : grid.columns;
  const std::int32_t length = unit == Unit::kPipeline ? grid.columns : grid.rows;
  RUDDER_TRY(check(capacities, grid, alpha, groups));
  const double others = unit == Unit::kPipeline ? alpha : 1 - alpha;
  const std::size_t minipods = capacities.size();
  Program program;
  program.add("Minimize\n cost: {:.17g} T", 1 - others);
  for (std::size_t k = 0; k < minipods; ++k) {
    program.add("\n + {:.17g} y_{}", others, k);
  }
  program.add("\nSubject To\n");
  spread_rows(program, "s", "T", groups, minipods);
  for (std::int32_t i = 0; i < groups; ++i) {
    program.add(" group_{}: ", i);
    sum(program, fmt::format("p_{}_", i), minipods);
    program.add(" = 1\n");
    for (std::size_t k = 0; k < minipods; ++k) {
      program.add(" selected_{0}_{1}: p_{0}_{1} - s_{0}_{1} <= 0\n", i, k);
    }
  }
  for (std::size_t k = 0; k < minipods; ++k) {
    // Times L, so that the coefficients are whole.
    program.add(" capacity_{}:", k);
    for (std::int32_t i = 0; i < groups; ++i) {
      program.add("{} {} p_{}_{}\n", i == 0 ? "" : " +", length, i, k);
    }
    program.add(" - {} y_{} <= 0\n", capacities[k], k);
  }
  program.add("Binary\n");
  binaries(program, "s", groups, minipods);
  for (std::size_t k = 0; k < minipods; ++k) {
    program.add(" y_{}\n", k);
  }
  program.add("End\n");
  return program.take();
}

}  // namespace rudder::place
