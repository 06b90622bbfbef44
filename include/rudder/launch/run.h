// SPDX-License-Identifier: Apache-2.0
// A run: one program as so many ranks, on this machine or over several.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/clock.h"
#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/core/secret.h"
#include "rudder/launch/hosts.h"
#include "rudder/launch/process.h"

namespace rudder::launch {

/// What all ranks of a run have in common.
struct RunSpec {
  std::vector<std::string> command;  ///< program and arguments, or with `own` this program's arguments
  bool own = false;
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside what says which rank it is
  Rank world = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
  Secret secret;                     ///< of this run alone
  Duration grace = from_seconds(5);  ///< between asking ranks to stop and killing them
};

/// Starts these ranks of the run on this machine and watches them (supervise()); child i is rank first + i,
/// and LOCAL_RANK is i. `program` is this program's path. The spec's grace goes before the options'.
[[nodiscard]] Result<SuperviseResult> run_ranks(const RunSpec& spec, RankRange ranks,
                                                const std::string& program, SuperviseOptions options);

/// What ended a run.
struct Failure {
  std::string what;            ///< "rank 2 on host b was killed by signal 9 (Killed)"
  int code = 1;                ///< to exit with
  bool restart_helps = false;  ///< a rank was killed by a signal, or its host was lost
};

/// How a run ended.
struct RunOutcome {
  std::optional<Failure> failure;  ///< the cause; none when all did well or were stopped
  int received_signal = 0;         ///< that this process got and passed on, or 0
  bool all_succeeded = true;       ///< every rank exited with 0
  bool started = true;             ///< ranks were
  std::vector<std::string> lost;   ///< hosts that do not answer any more
  TimePoint ranks_gone{};          ///< by when ranks of lost hosts have ended by themselves
};

/// Who hears what a run says; called on the thread that runs it.
struct RunListener {
  /// A line that a rank wrote; `host` is empty for ranks of this machine.
  std::function<void(Rank rank, const std::string& host, Stream stream, std::string_view line)> on_line;
  /// A line of a host that is no rank's.
  std::function<void(const std::string& host, std::string_view line)> on_host_line;
};

/// All ranks on this machine.
[[nodiscard]] Result<RunOutcome> run_here(const RunSpec& spec, const std::string& program,
                                          const RunListener& listener);

/// How other machines are reached.
struct RemoteOptions {
  std::vector<std::string> ssh;          ///< what goes before a host's name, and the command line behind it
  std::string program;                   ///< this program's path there
  std::string version;                   ///< which must be theirs too
  Duration deadline = from_seconds(20);  ///< for a host to answer, and the longest that it may be silent
};

/// The ranks spread over `hosts` (spread_ranks()). On each host that gets ranks one process is started
/// (rudder warden), which starts the ranks and ends them all when this process goes or falls silent for the
/// deadline. The master address is that by which the second host reaches the first, unless the first's entry
/// has one; a port of 0 becomes one that is free on the first host. A host that cannot be reached, that is
/// lost or whose rank fails ends all; the cause prefers a host that was lost or a rank that was killed to a
/// rank that gave up. Blocks; nothing is left running where hosts can be reached.
[[nodiscard]] Result<RunOutcome> run_on_hosts(std::span<const HostEntry> hosts, RunSpec spec,
                                              const RemoteOptions& options, const RunListener& listener);

/// The other end of run_on_hosts(): takes orders from standard input and answers on standard output. Returns
/// the exit code.
[[nodiscard]] Result<int> run_warden(const std::string& program, const std::string& version);

}  // namespace rudder::launch
