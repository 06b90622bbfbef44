// SPDX-License-Identifier: Apache-2.0
// Pickles of arrays, CSR matrices and dicts of lists, as Planetoid's files hold them.
#include "fuzz_input.h"
#include "graph/elements.h"
#include "graph/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = rudder::graph;
  const auto pickle =
      graph::Pickle::parse(std::as_bytes(std::span(data, size)), "pickle", rudder::fuzz::kMemoryLimit);
  if (!pickle.ok()) {
    return 0;
  }
  if (const auto array = pickle->array(); array.ok()) {
    std::size_t elements = 1;
    for (const std::size_t length : array->shape) {
      elements *= length;
    }
    RUDDER_CHECK(array->bytes.size() == elements * size_of(array->dtype), "as many bytes as elements");
    static_cast<void>(graph::elements_to_f32(array->dtype, array->bytes));
  }
  if (const auto matrix = pickle->matrix(); matrix.ok()) {
    RUDDER_CHECK(graph::validate_sparse(matrix.value(), "matrix").ok(), "matrices are validated");
  }
  static_cast<void>(pickle->for_each_list([](std::int64_t, std::span<const std::int64_t>) {}));
  return 0;
}
