// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <metis.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/interrupt.h"
#include "rudder/core/rng.h"

#include "graph/at.h"
#include "graph/partition_methods.h"

static_assert(sizeof(idx_t) == sizeof(std::int32_t), "Debian builds METIS with 32-bit indices");

namespace rudder::graph {
namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

/// Visiting targets in ascending order must meet each node's (ascending) neighbours in turn. O(edges).
bool is_symmetric(const CscView& csc) {
  std::vector<EdgeIndex> next(csc.indptr.begin(), csc.indptr.end() - 1);
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    for (const NodeId u : csc.neighbors(v)) {
      const EdgeIndex place = next[at(u)]++;
      if (place >= csc.indptr[at(u) + 1] || csc.indices[at(place)] != v) {
        return false;
      }
    }
  }
  return true;
}

/// Calls visit(v, u) for both directions of every undirected edge.
template <class Visit>
void for_each_direction(const CscView& csc, bool symmetric, Visit visit) {
  for (NodeId v = 0; v < csc.nodes(); ++v) {
    for (const NodeId u : csc.neighbors(v)) {
      if (u == v) {
        continue;
      }
      visit(v, u);
      if (!symmetric) {
        const auto back = csc.neighbors(u);
        if (!std::binary_search(back.begin(), back.end(), v)) {
          visit(u, v);
        }
      }
    }
  }
}

Error too_large(NodeId nodes, std::int64_t edges) {
  return {Errc::kUnsupported,
          fmt::format("metis: {} nodes and {} edges exceed its 32-bit indices (nodes + edges must stay below "
                      "2^31); use ldg or fennel",
                      nodes, edges)};
}

Error metis_error(int code) {
  switch (code) {
    case METIS_ERROR_MEMORY:
      return {Errc::kResource, "metis: out of memory"};
    case METIS_ERROR_INPUT:
      return {Errc::kInternal, "metis: refused its input"};
    default:
      return {Errc::kInternal, fmt::format("metis: failed (status {})", code)};
  }
}

/// Memory that a child process fills for its parent. Zeros at first.
template <class T>
class SharedArray {
 public:
  explicit SharedArray(std::size_t count) : bytes_(std::max<std::size_t>(count, 1) * sizeof(T)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() {
    if (data_ != nullptr) {
      ::munmap(data_, bytes_);
    }
  }
  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

/// Runs `work` in a child process whose output goes nowhere, and waits for it. METIS needs that: it takes
/// over SIGTERM and jumps out of its handler, prints warnings (a line for each empty part) where a program's
/// JSON belongs, and draws from libc's rand(), which all threads share.
template <class Work>
Status run_in_child(Work work) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{Errc::kResource, "metis: cannot start a process: " + std::generic_category().message(errno)};
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      std::signal(signal, SIG_DFL);
    }
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (::getppid() != parent || nowhere < 0 || ::dup2(nowhere, STDOUT_FILENO) < 0 ||
        ::dup2(nowhere, STDERR_FILENO) < 0) {
      ::_exit(1);
    }
    work();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Error{Errc::kResource, "metis: its process was ended by " + signal_text(WTERMSIG(status))};
  }
  return WEXITSTATUS(status) == 0 ? Status() : Error{Errc::kResource, "metis: its process could not start"};
}

}  // namespace

std::size_t metis_memory_bytes(NodeId nodes, EdgeIndex edges) {
  // Measured peaks of METIS 5.1, its input included: 57 bytes an edge and node (a dependency graph), 67
  // (R-MAT 18), 76 (R-MAT 20) and 74 (planted, a million nodes): graphs that coarsen badly take most.
  return 80 * (at(nodes) + at(edges));
}

Result<MetisGraph> to_metis(const CscView& topology, std::span<const NodeId> train) {
  const NodeId nodes = topology.nodes();
  if (nodes + topology.edges() >= kMaxIndex) {
    return too_large(nodes, topology.edges());
  }
  const bool symmetric = is_symmetric(topology);
  std::vector<std::int64_t> degree(at(nodes));
  std::int64_t edges = 0;
  for_each_direction(topology, symmetric, [&](NodeId v, NodeId) {
    ++degree[at(v)];
    ++edges;
  });
  // METIS sums the node weights, degree + 1 each, in one integer.
  if (nodes + edges >= kMaxIndex) {
    return too_large(nodes, edges);
  }
  MetisGraph out;
  out.constraints = train.empty() ? 1 : 2;
  out.offsets.resize(at(nodes) + 1);
  out.weights.resize(at(nodes) * at(out.constraints));
  for (std::size_t v = 0; v < degree.size(); ++v) {
    out.offsets[v + 1] = static_cast<std::int32_t>(out.offsets[v] + degree[v]);
    out.weights[v * at(out.constraints)] = static_cast<std::int32_t>(degree[v] + 1);
    degree[v] = out.offsets[v];
  }
  for (const NodeId v : train) {
    out.weights[at(v) * 2 + 1] = 1;
  }
  out.neighbors.resize(at(edges));
  for_each_direction(topology, symmetric, [&](NodeId v, NodeId u) {
    out.neighbors[at(degree[at(v)]++)] = static_cast<std::int32_t>(u);
  });
  return out;
}

Result<std::vector<PartId>> assign_metis(const Graph& graph, const PartitionOptions& options) {
  if (options.parts == 1) {
    return std::vector<PartId>(at(graph.meta().nodes));
  }
  RUDDER_ASSIGN(MetisGraph input, to_metis(graph.topology(), graph.train()));
  std::array<idx_t, METIS_NOPTIONS> settings{};
  METIS_SetDefaultOptions(settings.data());
  settings[METIS_OPTION_SEED] = static_cast<idx_t>(mix64(options.seed) >> 33);
  settings[METIS_OPTION_NUMBERING] = 0;
  idx_t nodes = static_cast<idx_t>(graph.meta().nodes);
  idx_t parts = static_cast<idx_t>(options.parts);
  // METIS wants more than 1; a part cannot be balanced better than by one node anyway.
  const auto tolerance = static_cast<real_t>(1 + std::max(options.imbalance, 0.001));
  std::array<real_t, 2> tolerances{tolerance, tolerance};
  const SharedArray<idx_t> part(at(nodes));
  const SharedArray<int> code(1);
  if (part.data() == nullptr || code.data() == nullptr) {
    return Error{Errc::kResource, fmt::format("metis: no memory for the parts of {} nodes", nodes)};
  }
  RUDDER_TRY(run_in_child([&] {
    idx_t cut = 0;
    *code.data() = METIS_PartGraphKway(&nodes, &input.constraints, input.offsets.data(),
                                       input.neighbors.data(), input.weights.data(), nullptr, nullptr, &parts,
                                       nullptr, tolerances.data(), settings.data(), &cut, part.data());
  }));
  if (*code.data() != METIS_OK) {
    return metis_error(*code.data());
  }
  return std::vector<PartId>(part.data(), part.data() + nodes);
}

}  // namespace rudder::graph
