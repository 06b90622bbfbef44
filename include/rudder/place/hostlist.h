// SPDX-License-Identifier: Apache-2.0
// Host list expressions as Slurm writes them: "gpu-a[01-04,07],b[1-2]x[3-4]".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::place {

/// The names of an expression in its own order (several brackets: the last runs fastest), duplicates kept.
/// Numbers keep the width of the range's lower end. Errors (kInvalidData, with the offending part):
/// unbalanced or nested brackets, empty names or ranges, a range that runs backwards or is no number, and
/// more than `limit` names, which is found before any is made. O(length of the result).
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view expression,
                                                               std::size_t limit = std::size_t{1} << 22);

/// The shortest such expression for names that end in numbers: neighbours in the given order that differ by
/// one in the last number share a bracket. expand_hostlist gives the same names in the same order.
[[nodiscard]] std::string compress_hostlist(std::span<const std::string> names);

}  // namespace rudder::place
