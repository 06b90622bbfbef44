// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>

#include "rudder/core/machine.h"
#include "rudder/llm/agent.h"
#include "rudder/llm/embedded.h"
#include "rudder/llm/endpoint.h"
#include "rudder/llm/retry.h"

#include "cli/agent_options.h"
#include "cli/command.h"
#include "cli/stop_signal.h"

namespace rudder::cli {
namespace {

/// ~/.rudder/agent.sock; makes the folder.
Result<std::filesystem::path> usual_socket() {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    return Error{Errc::kInvalidArgument, "agent needs --socket PATH or --port N: HOME is not set"};
  }
  const std::filesystem::path folder = std::filesystem::path(home) / ".rudder";
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Error{Errc::kIo,
                 fmt::format("cannot make {}: {}", folder.string(), std::generic_category().message(errno))};
  }
  return folder / "agent.sock";
}

class Agent final : public Command {
 public:
  Agent() {
    options().text(
        "model", "FILE", model_,
        "GGUF file of the model to run; default: the one that script/bootstrap agent fetches. With "
        "--endpoint: the server's name of it");
    options().text(
        "endpoint", "URL", url_,
        "Pass calls on to this OpenAI-style server instead of running a model: http://HOST:PORT/v1, "
        "https://HOST/v1 or unix:PATH; its key comes from RUDDER_AGENT_API_KEY");
    options().path("socket", agent_.socket,
                   "Unix socket to serve at, mode 0600; default: ~/.rudder/agent.sock");
    options().integer<std::uint16_t>(
        "port", agent_.port, 0, std::numeric_limits<std::uint16_t>::max(),
        "Serve at this port of 127.0.0.1 instead, for every user of this host; 0: at the socket");
    options().integers("cores", cores_, 0, 1023,
                       "Processors to run on, which should be nobody else's; default: any, and only while "
                       "they are idle");
    options().integer<std::uint32_t>("threads", embedded_.threads, 0, 1024,
                                     "Threads that compute; 0: one for each of --cores, else one");
    options().integer<std::uint32_t>("context", embedded_.context, 256, 1 << 20,
                                     "Tokens of a prompt and its reply together");
    options().integer<std::uint32_t>(
        "jobs", embedded_.jobs, 1, 64,
        "Jobs whose prompts' beginnings stay computed, each in memory of its own");
    options().integer<std::uint32_t>("queue", queue_, 1, 1024, "Calls of one job that may wait");
    options().real("deadline", patience_, 0.01, 86400,
                   "Seconds that a call may take which names no time itself");
    options().toggle("warm-up", warm_up_, "Make one call before serving");
    add_json_option();
  }
  void add_arguments(Arguments& arguments) override {
    arguments.footer(
        "Answers POST /v1/chat/completions, GET /v1/models, /health and /metrics until SIGTERM or SIGINT. "
        "One "
        "call is\ncomputed at a time; jobs (the field `user`) take turns.");
  }

  Result<int> run(const Program&) override {
    RUDDER_TRY(choose_address());
    if (cores_.empty()) {
      RUDDER_TRY(run_this_thread_when_idle());
    } else {
      RUDDER_TRY(pin_this_thread(cores_));
    }
    RUDDER_ASSIGN(const std::unique_ptr<llm::Model> model, open());
    if (warm_up_) {
      RUDDER_TRY(wake(*model));
    }
    RUDDER_ASSIGN(const int stop, stop_on_signals());
    metrics::Registry registry;
    agent_.queue = queue_;
    agent_.patience = from_seconds(patience_);
    const TimePoint begin = steady_clock().now();
    RUDDER_ASSIGN(std::unique_ptr<llm::AgentServer> server,
                  llm::AgentServer::start(*model, registry, agent_));
    const std::string address = server->address();
    say(fmt::format(
        "agent: ready at {}: {}, on {}", address, model->name(),
        cores_.empty() ? "idle processors" : fmt::format("processors {}", fmt::join(cores_, ","))));
    pollfd wanted{stop, POLLIN, 0};
    while (::poll(&wanted, 1, -1) < 0 && errno == EINTR) {
    }
    const llm::AgentTotals totals = server->totals();
    server.reset();
    tell(totals, *model, address, to_seconds(steady_clock().now() - begin));
    return 0;
  }

 private:
  Status choose_address() {
    if (!agent_.socket.empty() && agent_.port != 0) {
      return Error{Errc::kInvalidArgument, "--socket and --port: one of them"};
    }
    if (agent_.socket.empty() && agent_.port == 0) {
      RUDDER_ASSIGN(agent_.socket, usual_socket());
    }
    return {};
  }

  Result<std::unique_ptr<llm::Model>> open() {
    if (!url_.empty()) {
      RUDDER_ASSIGN(std::unique_ptr<llm::Model> model, llm::open_endpoint(url_, model_));
      return llm::with_retries(std::move(model), {});
    }
    if (embedded_.threads == 0) {
      embedded_.threads = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(cores_.size()));
    }
    embedded_.file = model_.empty() ? llm::bootstrapped_model() : std::filesystem::path(model_);
    auto model = llm::open_embedded(embedded_);
    if (!model.ok() && model_.empty() && model.error().code == Errc::kNotFound) {
      return Error{Errc::kNotFound, model.error().message + "; script/bootstrap agent fetches it"};
    }
    return model;
  }

  void tell(const llm::AgentTotals& totals, const llm::Model& model, const std::string& address,
            double seconds) const {
    say(fmt::format("agent: {} calls answered, {} failed, {} dropped, {} refused", totals.answered,
                    totals.failed, totals.dropped, totals.refused));
    if (json()) {
      print_json({{"model", model.name()},
                  {"address", address},
                  {"answered", totals.answered},
                  {"failed", totals.failed},
                  {"dropped", totals.dropped},
                  {"refused", totals.refused},
                  {"prompt_tokens", totals.prompt_tokens},
                  {"cached_tokens", totals.cached_tokens},
                  {"reply_tokens", totals.reply_tokens},
                  {"busy_seconds", totals.busy_seconds},
                  {"seconds", seconds},
                  {"peak_rss_bytes", peak_rss_bytes()}});
    }
  }

  std::string model_;
  std::string url_;
  llm::EmbeddedOptions embedded_{.file = {}, .threads = 0};
  llm::AgentOptions agent_;
  std::vector<int> cores_;
  std::uint32_t queue_ = 8;
  double patience_ = 30;
  bool warm_up_ = false;
};

}  // namespace

std::unique_ptr<Command> make_agent() {
  return std::make_unique<Agent>();
}

}  // namespace rudder::cli
