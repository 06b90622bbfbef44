// SPDX-License-Identifier: Apache-2.0
// Hosts on one machine: a network namespace each, veth links into one bridge, shaped by `tbf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/result.h"

namespace rudder::launch {

struct Host {
  std::string network_namespace;
  std::string address;    ///< IPv4
  std::string interface;  ///< inside the namespace
};

/// Bytes that a host's link carried since it was made, as the kernel counts them (all layers).
struct LinkBytes {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
};

/// Whether this process may make namespaces and links (root with iproute2), else why not.
[[nodiscard]] Status can_make_network();

/// Hosts joined by a switch, all of them in namespaces of their own: the machine's interfaces stay as they
/// are. (Communication libraries take any interface with an address for a link to the peers, and hang when it
/// goes.) Names carry this process's id, so runs do not disturb each other. Leftovers of dead processes are
/// removed first. The destructor removes everything.
class VirtualNetwork {
 public:
  /// `bits_per_second` 0: unshaped.
  [[nodiscard]] static Result<std::unique_ptr<VirtualNetwork>> create(std::size_t hosts,
                                                                      double bits_per_second);
  ~VirtualNetwork();
  VirtualNetwork(const VirtualNetwork&) = delete;
  VirtualNetwork& operator=(const VirtualNetwork&) = delete;

  [[nodiscard]] const std::vector<Host>& hosts() const noexcept { return hosts_; }
  /// All links move so much from now on. They must have been made with a rate.
  [[nodiscard]] Status set_rate(double bits_per_second);
  [[nodiscard]] Result<LinkBytes> bytes(std::size_t host) const;

 private:
  VirtualNetwork() = default;
  /// Both ends of all links; `verb`: add, or change.
  [[nodiscard]] Status shape(std::string_view verb, double bits_per_second);

  std::vector<Host> hosts_;
  std::string switch_;      ///< its namespace
  std::int64_t burst_ = 0;  ///< bytes; never falls
};

}  // namespace rudder::launch
