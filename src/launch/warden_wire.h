// SPDX-License-Identifier: Apache-2.0
// What a launcher and a host's warden say to each other: lines of text, through ssh's standard input and
// output.
//
//   launcher → warden               warden → launcher
//   hello {…}                       (whatever the login shell prints)
//                                   rudder-warden {…}       its answer to hello
//   start {…}                       out|err RANK TEXT       a line that the rank wrote
//   signal NUMBER                   exit RANK CODE SIGNAL STOPPED
//                                   error TEXT              it gives up
//                                   ended SIGNAL            it was told to by this signal, not by the
//                                   launcher
//   alive                           alive                   when there was nothing else to say for a while
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"
#include "rudder/launch/run.h"

namespace rudder::launch {

/// What a host must know before ranks are started anywhere.
struct Hello {
  std::string directory;  ///< to work in
  std::string master;     ///< name of the first host, to be looked up
  double silence = 0;     ///< seconds after which the other end is taken for lost
};
[[nodiscard]] Result<std::string> encode(const Hello& hello);
[[nodiscard]] Result<Hello> parse_hello(std::string_view text);

struct Ready {
  std::string version;     ///< of the host's program
  std::string address;     ///< of the master as this host reaches it; empty: the name means nothing here
  bool loopback = false;   ///< that address is of this host alone
  std::uint16_t port = 0;  ///< free here
  std::string error;       ///< why the host cannot take part; empty: it can
};
[[nodiscard]] Result<std::string> encode(const Ready& ready);
[[nodiscard]] Result<Ready> parse_ready(std::string_view text);

struct Start {
  RunSpec spec;
  RankRange ranks;
};
/// An error when the command or a variable is not UTF-8.
[[nodiscard]] Result<std::string> encode(const Start& start);
/// Errors do not hold the text: it has the run's secret.
[[nodiscard]] Result<Start> parse_start(std::string_view text);

/// A line of a warden after its greeting.
struct Event {
  enum class Kind : unsigned char { kLine, kExit, kError, kEnded, kAlive };
  Kind kind = Kind::kAlive;
  Rank rank = 0;
  Stream stream = Stream::kOut;  ///< kLine
  std::string_view text;         ///< kLine, kError; a view of what was parsed
  Exit exit;                     ///< kExit, without a name; kEnded, of the signal alone
};
[[nodiscard]] std::string encode_line(Rank rank, Stream stream, std::string_view text);
[[nodiscard]] std::string encode_exit(Rank rank, const Exit& exit);
[[nodiscard]] std::string encode_ended(int signal);
[[nodiscard]] Result<Event> parse_event(std::string_view line);

/// The number in "signal N", or 0 when the line is another one.
[[nodiscard]] int parse_signal(std::string_view line);

inline constexpr std::string_view kHello = "hello ";
inline constexpr std::string_view kGreeting = "rudder-warden ";
inline constexpr std::string_view kStart = "start ";
inline constexpr std::string_view kSignal = "signal ";
inline constexpr std::string_view kError = "error ";
inline constexpr std::string_view kAlive = "alive";

}  // namespace rudder::launch
