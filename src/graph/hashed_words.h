// SPDX-License-Identifier: Apache-2.0
// Text as a feature row: a bag of words, hashed into a fixed number of columns.
#pragma once

#include <span>
#include <string_view>

namespace rudder::graph {

/// Adds the words of `text` to `row`: maximal runs of ASCII letters and digits, lower-cased; everything else
/// separates. A word's hash chooses its column and its sign (Weinberger et al. 2009: signs make collisions
/// cancel in expectation), each occurrence counts once. O(text).
void add_hashed_words(std::string_view text, std::span<float> row);

/// Scales to length 1; a row of zeros stays.
void normalise_row(std::span<float> row);

}  // namespace rudder::graph
