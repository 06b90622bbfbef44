// SPDX-License-Identifier: Apache-2.0
#include "launch/child.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rudder::launch {
namespace {

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe(const std::string& name) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return errno_error("cannot create a pipe for " + name);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// What the child's side needs of the pipes. `failed` gets errno when the program cannot be run, and is
/// closed when it runs.
struct ChildEnds {
  int in, out, err, failed;
  pid_t parent;
};

[[noreturn]] void exec_child(const Command& command, const ChildEnds& ends) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != ends.parent) {  // it died before it was asked to be watched
    ::_exit(127);
  }
  ::signal(SIGPIPE, SIG_DFL);
  if (ends.in >= 0) {
    ::dup2(ends.in, STDIN_FILENO);
  }
  ::dup2(ends.out, STDOUT_FILENO);
  ::dup2(ends.err, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<const char*> argv;
  if (!command.network_namespace.empty()) {
    // `ip netns exec` also remounts /sys, where network libraries look for interfaces.
    for (const char* word : {"ip", "netns", "exec"}) {
      argv.push_back(word);
    }
    argv.push_back(command.network_namespace.c_str());
  }
  for (const std::string& argument : command.arguments) {
    argv.push_back(argument.c_str());
  }
  argv.push_back(nullptr);
  ::execvp(argv[0], const_cast<char* const*>(argv.data()));
  const int reason = errno;
  static_cast<void>(!::write(ends.failed, &reason, sizeof reason));
  ::_exit(127);
}

}  // namespace

void LineReader::drain(const Sink& sink) {
  std::array<char, 65536> chunk;
  while (fd_.open()) {
    const ssize_t n = ::read(fd_.get(), chunk.data(), chunk.size());
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN) {
        return;
      }
    }
    if (n <= 0) {
      fd_.reset();
      flush(sink);
      return;
    }
    pending_.append(chunk.data(), static_cast<std::size_t>(n));
    std::size_t start = 0;
    for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n', start)) {
      sink(std::string_view(pending_).substr(start, end - start));
      start = end + 1;
    }
    pending_.erase(0, start);
    if (pending_.size() > longest_) {
      flush(sink);
    }
  }
}

void LineReader::flush(const Sink& sink) {
  if (!pending_.empty()) {
    sink(pending_);
    pending_.clear();
  }
}

Result<Child> Child::start(const Command& command, std::size_t longest_line) {
  Child child;
  child.exit_.name = command.name;
  Pipe input;
  if (command.input_from_pipe) {
    RUDDER_ASSIGN(input, make_pipe(command.name));
    ::fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
  }
  std::array<Fd, 2> write_ends;
  for (std::size_t i = 0; i < 2; ++i) {
    RUDDER_ASSIGN(Pipe output, make_pipe(command.name));
    ::fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
    child.outputs_[i] = LineReader(std::move(output.read), longest_line);
    write_ends[i] = std::move(output.write);
  }
  RUDDER_ASSIGN(Pipe failure, make_pipe(command.name));
  const pid_t parent = ::getpid();
  child.pid_ = ::fork();
  if (child.pid_ < 0) {
    return errno_error("cannot start " + command.name);
  }
  if (child.pid_ == 0) {
    exec_child(command,
               {input.read.get(), write_ends[0].get(), write_ends[1].get(), failure.write.get(), parent});
  }
  ::setpgid(child.pid_, child.pid_);  // also here, so that a signal sent at once reaches the group
  failure.write.reset();
  int reason = 0;
  if (::read(failure.read.get(), &reason, sizeof reason) == sizeof reason) {  // ends when the program runs
    ::waitpid(child.pid_, nullptr, 0);
    return Error{Errc::kNotFound, fmt::format("cannot run {}: {}",
                                              command.network_namespace.empty() ? command.arguments[0] : "ip",
                                              std::generic_category().message(reason))};
  }
  child.input_ = std::move(input.write);
  child.running_ = true;
  return child;
}

void Child::signal(int number) const {
  if (running_) {
    ::kill(-pid_, number);
  }
}

bool Child::reap() {
  int status = 0;
  if (!running_ || ::waitpid(pid_, &status, WNOHANG) != pid_) {
    return false;
  }
  running_ = false;
  if (WIFSIGNALED(status)) {
    exit_.signal = WTERMSIG(status);
    exit_.code = 128 + exit_.signal;
  } else {
    exit_.code = WEXITSTATUS(status);
  }
  ::kill(-pid_, SIGKILL);
  return true;
}

void Child::drain(const LineSink& sink) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].drain([&](std::string_view line) { sink(static_cast<Stream>(i), line); });
  }
}

void Child::flush(const LineSink& sink) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].flush([&](std::string_view line) { sink(static_cast<Stream>(i), line); });
  }
}

void Child::add_to(std::vector<pollfd>& events) const {
  for (const LineReader& output : outputs_) {
    if (output.open()) {
      events.push_back({output.fd(), POLLIN, 0});
    }
  }
}

}  // namespace rudder::launch
