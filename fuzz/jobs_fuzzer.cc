// SPDX-License-Identifier: Apache-2.0
// Traces of jobs, and what Slurm's commands print.
#include "rudder/sched/slurm_notes.h"
#include "rudder/sched/slurm_state.h"
#include "rudder/sched/trace.h"

#include "fuzz_input.h"

namespace rudder::sched {
namespace {

void trace(fuzz::Input& input) {
  const auto names = trace_format_names();
  const auto format = parse_trace_format(names[input.below(names.size())]);
  RUDDER_CHECK(format.ok(), "formats have names");
  const fuzz::MemoryFile file(input.rest());
  if (const auto trace = read_trace(file.path(), format.value(), {}); trace.ok()) {
    RUDDER_CHECK(!trace->jobs.empty(), "a trace has jobs");
  }
}

void notes(std::string_view text) {
  if (is_marked(text)) {
    static_cast<void>(parse_request(text));
  }
  const SlurmNote note = parse_note(text);
  const std::string written = to_text(note);
  RUDDER_CHECK(to_text(parse_note(written)) == written, "notes come back");
}

void commands(fuzz::Input& input) {
  switch (input.below(4)) {
    case 0:
      static_cast<void>(parse_squeue(input.text()));
      break;
    case 1:
      static_cast<void>(parse_sinfo(input.text()));
      break;
    case 2:
      static_cast<void>(parse_reservations(input.text()));
      break;
    default:
      static_cast<void>(parse_slurm_topology(input.text(), {{"a1"}, {"a2"}, {"b1"}}));
  }
}

}  // namespace
}  // namespace rudder::sched

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rudder::fuzz::Input input(data, size);
  switch (input.below(3)) {
    case 0:
      rudder::sched::trace(input);
      break;
    case 1:
      rudder::sched::notes(input.text());
      break;
    default:
      rudder::sched::commands(input);
  }
  return 0;
}
