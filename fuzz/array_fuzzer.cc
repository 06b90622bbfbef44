// SPDX-License-Identifier: Apache-2.0
// NumPy arrays and archives of them.
#include <vector>

#include "rudder/graph/npy.h"

#include "fuzz_input.h"
#include "graph/npz.h"

namespace rudder::graph {
namespace {

void use(const NpyArray& array) {
  RUDDER_CHECK(array.bytes().size() == array.elements() * size_of(array.dtype()),
               "as many bytes as elements");
  static_cast<void>(array.to_int64());
  static_cast<void>(array.to_f32());
  static_cast<void>(array.vector_of<std::int64_t>());
  static_cast<void>(array.vector_of<std::uint32_t>());
  static_cast<void>(array.vector_of<float>());
}

void npy(std::span<const std::byte> bytes) {
  const auto array = NpyArray::from_bytes({bytes.begin(), bytes.end()}, "npy");
  if (array.ok()) {
    use(array.value());
  }
}

void npz(std::span<const std::byte> bytes) {
  const fuzz::MemoryFile file(bytes);
  auto archive = NpzFile::open(file.path(), fuzz::kMemoryLimit);
  if (!archive.ok()) {
    return;
  }
  for (const char* name : {"a", "indptr", "adj_data"}) {
    if (archive->has(name)) {
      if (const auto array = archive->read(name); array.ok()) {
        use(array.value());
      }
    }
  }
}

}  // namespace
}  // namespace rudder::graph

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  if (input.below(2) == 0) {
    rudder::graph::npy(input.rest());
  } else {
    rudder::graph::npz(input.rest());
  }
  return 0;
}
