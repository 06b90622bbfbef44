// SPDX-License-Identifier: Apache-2.0
// Belady's rule in batch form with bounded knowledge: `lookahead` (MIN-L) and, with the whole run known,
// `min`.
#pragma once

#include <cstddef>
#include <memory>

#include "rudder/cache/policy.h"

namespace rudder::cache {

/// After a batch is served, keeps those C rows of (buffer + misses) whose next use is nearest. With all next
/// uses known this is optimal in rows fetched (exchange argument; Ginex, PVLDB 15, proves the batch form; it
/// takes that serving does not need the whole batch in the buffer: misses wait in staging memory). Rows
/// without a use in the window come after all others, by inclusion probability (by degree where the context
/// has none); with equal worth what is resident stays. Rows known never to be used again are dropped.
///
/// The window is extended until it holds `batches` batches or `distinct` distinct rows beyond the batch to
/// serve, but only when the buffer lacks room for that batch. O(R + a log C) a batch of R rows, a of them
/// admitted or without a known next use.
[[nodiscard]] std::unique_ptr<Policy> make_bounded_min(const PolicyContext& context, std::size_t batches,
                                                       std::size_t distinct);

}  // namespace rudder::cache
