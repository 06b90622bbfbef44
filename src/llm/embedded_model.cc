// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <llama.h>

#include "rudder/core/rng.h"
#include "rudder/llm/embedded.h"

#include "llm/call_end.h"
#include "llm/choose.h"
#include "llm/forced_text.h"
#include "llm/grammar_limits.h"
#include "llm/last_words.h"
#include "llm/llama_library.h"
#include "llm/llama_text.h"
#include "llm/prefix_slots.h"

namespace rudder::llm {
namespace {

/// Tokens computed at once. Whole chunks of a prompt are what later prompts need not compute again.
constexpr std::size_t kChunk = 32;
/// Grammars look at so many of the most probable tokens first, and at the others only if they matter.
constexpr std::size_t kLikely = 256;

/// One computation at a time, those that wait give up at their deadlines.
class Turnstile {
 public:
  /// True when it is this caller's turn, which ends with leave().
  [[nodiscard]] bool enter(TimePoint until, const std::atomic<bool>& stopped) {
    std::unique_lock lock(mutex_);
    const bool freed = free_.wait_until(lock, until, [&] { return !busy_ || stopped.load(); });
    if (!freed || stopped.load()) {
      return false;
    }
    busy_ = true;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    free_.notify_one();
  }
  /// After `stopped` was set.
  void wake() {
    const std::lock_guard lock(mutex_);
    free_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool busy_ = false;
};

class EmbeddedModel final : public Model {
 public:
  EmbeddedModel(const EmbeddedOptions& options, LlamaModel model)
      : options_(options),
        name_(options.file.filename().string()),
        model_(std::move(model)),
        text_(*model_, name_),
        slots_(options.jobs, kChunk) {}

  Status start() {
    const std::uint32_t threads = std::max(options_.threads, 1U);
    auto context = make_llama_context(
        *model_, {.tokens = options_.context, .slots = options_.jobs, .chunk = kChunk, .threads = threads},
        &EmbeddedModel::must_end, this);
    if (!context.ok()) {
      return context.error().in(name_);
    }
    context_ = std::move(context).value();
    threads_ = make_llama_threads(threads);
    if (threads_ == nullptr) {
      return Error{Errc::kResource, fmt::format("{}: {} threads cannot be started", name_, threads)};
    }
    llama_attach_threadpool(context_.get(), threads_.get(), threads_.get());
    return try_out();
  }

  Result<ChatReply> complete(const ChatRequest& request) override {
    const TimePoint begin = steady_clock().now();
    const TimePoint end = call_end(request, begin);
    if (!turnstile_.enter(end, stopped_)) {
      return ended("another call is at work");
    }
    deadline_ = end;
    auto reply = guarded([&] { return answer(request); });
    turnstile_.leave();
    if (reply.ok()) {
      reply->seconds = to_seconds(steady_clock().now() - begin);
    }
    return reply;
  }

  void stop() override {
    stopped_.store(true);
    turnstile_.wake();
  }

  [[nodiscard]] std::string name() const override { return name_; }

 private:
  /// Computes one token, any: models that cannot are found at the start and not at the first call.
  Status try_out() {
    deadline_ = TimePoint::max();
    const std::int32_t token = 0;
    RUDDER_TRY(compute(0, 0, std::span(&token, 1), true));
    read_logits();
    llama_memory_clear(llama_get_memory(context_.get()), true);
    return std::isfinite(log_sum_exp(logits_)) ? Status() : Status(no_numbers());
  }

  void read_logits() {
    const float* const raw = llama_get_logits_ith(context_.get(), -1);
    logits_.assign(raw, raw + llama_vocab_n_tokens(&text_.vocabulary()));
  }

  [[nodiscard]] Error no_numbers() const {
    return {Errc::kInvalidData, name_ + ": computes no numbers; the file may be damaged"};
  }

  static bool must_end(void* self) {
    const auto* const model = static_cast<const EmbeddedModel*>(self);
    return model->stopped_.load(std::memory_order_relaxed) || steady_clock().now() >= model->deadline_;
  }

  [[nodiscard]] Error ended(const std::string& at) const {
    return stopped_.load() ? Error{Errc::kCancelled, name_ + ": was stopped"}
                           : Error{Errc::kTimeout, fmt::format("{}: not finished in time: {}", name_, at)};
  }

  template <class Work>
  Result<ChatReply> guarded(const Work& work) {
    try {
      return work();
    } catch (const std::exception& error) {
      for (std::uint32_t slot = 0; slot < options_.jobs; ++slot) {
        slots_.forget(slot);  // whatever was at hand: begin anew
      }
      return Error{Errc::kInternal, fmt::format("{}: llama.cpp: {}", name_, error.what())};
    }
  }

  Result<ChatReply> answer(const ChatRequest& request) {
    RUDDER_ASSIGN(const LlamaSampler grammar, grammar_of(request));
    RUDDER_ASSIGN(const std::vector<std::int32_t> prompt, text_.tokens_of(request.messages));
    if (request.max_tokens == 0 || prompt.size() + request.max_tokens > options_.context) {
      return Error{
          Errc::kInvalidArgument,
          fmt::format("{}: a prompt of {} tokens and a reply of {} need a context of {}, which is {}", name_,
                      prompt.size(), request.max_tokens, prompt.size() + request.max_tokens,
                      options_.context)};
    }
    ChatReply reply;
    reply.prompt_tokens = prompt.size();
    RUDDER_ASSIGN(const std::size_t slot, compute_prompt(request.job, prompt, reply));
    RUDDER_TRY(generate(request, grammar.get(), slot, reply));
    return reply;
  }

  Result<LlamaSampler> grammar_of(const ChatRequest& request) {
    if (request.grammar.empty()) {
      if (!request.json_schema.empty()) {
        return Error{Errc::kInvalidArgument, name_ + ": takes a grammar (GBNF), no JSON schema alone"};
      }
      return LlamaSampler();
    }
    RUDDER_TRY(check_grammar_limits(request.grammar));
    LlamaSampler sampler(
        llama_sampler_init_grammar(&text_.vocabulary(), request.grammar.c_str(), kGrammarRoot));
    if (sampler == nullptr) {
      return Error{Errc::kInvalidArgument,
                   fmt::format("{}: the grammar has an error, or no rule '{}'", name_, kGrammarRoot)};
    }
    return sampler;
  }

  /// Leaves the logits behind the prompt's last token. Returns the slot.
  Result<std::size_t> compute_prompt(const std::string& job, const std::vector<std::int32_t>& prompt,
                                     ChatReply& reply) {
    const PrefixSlots::Found found = slots_.begin(job, prompt);
    std::size_t done = found.kept;
    llama_memory_t memory = llama_get_memory(context_.get());
    const auto sequence = static_cast<std::int32_t>(found.slot);
    if (!llama_memory_seq_rm(memory, sequence, static_cast<std::int32_t>(done), -1)) {
      llama_memory_seq_rm(memory, sequence, -1, -1);  // of models that cannot forget a part; never fails
      slots_.forget(found.slot);
      done = 0;
    }
    reply.cached_tokens = done;
    while (done < prompt.size()) {
      const std::span chunk = std::span(prompt).subspan(done, std::min(kChunk, prompt.size() - done));
      RUDDER_TRY(compute(found.slot, done, chunk, done + chunk.size() == prompt.size()));
      slots_.computed(found.slot, chunk);
      done += chunk.size();
    }
    return found.slot;
  }

  Status compute(std::size_t slot, std::size_t position, std::span<const std::int32_t> tokens, bool logits) {
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(tokens.size()), 0, 1);
    batch.n_tokens = static_cast<std::int32_t>(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      batch.token[i] = tokens[i];
      batch.pos[i] = static_cast<std::int32_t>(position + i);
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = static_cast<std::int32_t>(slot);
      batch.logits[i] = logits && i + 1 == tokens.size() ? 1 : 0;
    }
    const int code = llama_decode(context_.get(), batch);
    llama_batch_free(batch);
    if (code == 2) {
      return ended(fmt::format("at token {}", position));
    }
    if (code != 0) {
      return Error{Errc::kInternal,
                   fmt::format("{}: llama_decode returns {} at token {}", name_, code, position)};
    }
    return {};
  }

  Status generate(const ChatRequest& request, llama_sampler* grammar, std::size_t slot, ChatReply& reply) {
    CounterRng rng{request.seed};
    std::size_t position = reply.prompt_tokens;
    while (reply.reply_tokens < request.max_tokens) {
      std::vector<std::int32_t> tokens;
      if (grammar != nullptr) {
        tokens = forced_.tokens(*grammar);
        tokens.resize(
            std::min({tokens.size(), kChunk, std::size_t{request.max_tokens - reply.reply_tokens}}));
      }
      if (tokens.empty()) {
        RUDDER_ASSIGN(const Step step, next(grammar, request.temperature, rng.unit()));
        if (text_.is_end(step.draw.token)) {
          break;
        }
        add(step, reply);
        tokens.push_back(step.draw.token);
      } else {
        add_forced(tokens, reply);
      }
      if (reply.text.size() > kMaxReplyBytes) {
        return Error{Errc::kInvalidData, fmt::format("{}: a reply above {} bytes", name_, kMaxReplyBytes)};
      }
      for (const std::int32_t token : tokens) {
        if (grammar != nullptr) {
          llama_sampler_accept(grammar, token);
        }
      }
      if (reply.reply_tokens < request.max_tokens) {
        RUDDER_TRY(compute(slot, position, tokens, true));
        position += tokens.size();
      }
    }
    return {};
  }

  struct Step {
    Draw draw;
    double allowed = 1;
  };

  Result<Step> next(llama_sampler* grammar, double temperature, double unit) {
    read_logits();
    const double before = log_sum_exp(logits_);
    if (!std::isfinite(before)) {
      return no_numbers();
    }
    if (grammar != nullptr) {
      constrain(*grammar, before);
    }
    std::optional<Draw> draw = draw_token(logits_, temperature, unit, kMaxChoices);
    if (!draw) {
      return Error{Errc::kInternal, name_ + ": the grammar lets no token of this model pass"};
    }
    const double allowed = grammar == nullptr ? 1 : std::min(1.0, std::exp(draw->log_sum - before));
    return Step{std::move(*draw), allowed};
  }

  /// Sets what the grammar forbids to -infinity. The tokens that a grammar has not looked at count as
  /// forbidden when they could not add a millionth to what it lets pass.
  void constrain(llama_sampler& grammar, double before);

  void add(const Step& step, ChatReply& reply) const {
    Token token{.text = text_.text_of(step.draw.token), .choices = {}, .allowed = step.allowed};
    for (const Draw::Choice& choice : step.draw.best) {
      token.choices.push_back({text_.text_of(choice.token), choice.probability});
    }
    reply.text += token.text;
    reply.tokens.push_back(std::move(token));
    ++reply.reply_tokens;
  }

  void add_forced(const std::vector<std::int32_t>& tokens, ChatReply& reply) const {
    for (const std::int32_t token : tokens) {
      const std::string text = text_.text_of(token);
      reply.text += text;
      reply.tokens.push_back({.text = text, .choices = {{text, 1}}, .allowed = 1});
      ++reply.reply_tokens;
    }
  }

  EmbeddedOptions options_;
  std::string name_;
  LlamaModel model_;
  LlamaText text_;
  ForcedText forced_{text_};
  LlamaThreads threads_;
  LlamaContext context_;

  Turnstile turnstile_;
  std::atomic<bool> stopped_{false};
  // Of the call at work.
  TimePoint deadline_{};
  PrefixSlots slots_;
  std::vector<float> logits_;
  std::vector<llama_token_data> candidates_;
};

void EmbeddedModel::constrain(llama_sampler& grammar, double before) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  candidates_.clear();
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    candidates_.push_back({static_cast<std::int32_t>(i), logits_[i], 0});
  }
  const auto likely = std::min(kLikely, candidates_.size());
  std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(likely),
                   candidates_.end(), [](const auto& a, const auto& b) { return a.logit > b.logit; });
  std::ranges::fill(logits_, kNever);
  double passed = 0;  // shares of the whole
  double seen = 0;
  std::size_t from = 0;
  for (const std::size_t to : {likely, candidates_.size()}) {
    for (std::size_t i = from; i < to; ++i) {
      seen += std::exp(double{candidates_[i].logit} - before);
    }
    llama_token_data_array part{candidates_.data() + from, to - from, -1, false};
    llama_sampler_apply(&grammar, &part);
    for (std::size_t i = from; i < to; ++i) {
      logits_[static_cast<std::size_t>(candidates_[i].id)] = candidates_[i].logit;
      passed += std::exp(double{candidates_[i].logit} - before);
    }
    from = to;
    if (passed > 0 && 1 - seen < 1e-6 * passed) {
      break;
    }
  }
}

}  // namespace

Result<std::unique_ptr<Model>> open_embedded(const EmbeddedOptions& options) {
  const LastWords words(options.file.string() + ": llama.cpp crashes on this file");
  try {
    RUDDER_ASSIGN(LlamaModel loaded, load_llama(options.file));
    auto model = std::make_unique<EmbeddedModel>(options, std::move(loaded));
    RUDDER_TRY(model->start());
    return std::unique_ptr<Model>(std::move(model));
  } catch (const std::exception& error) {
    return Error{Errc::kInternal, fmt::format("{}: llama.cpp: {}", options.file.string(), error.what())};
  }
}

}  // namespace rudder::llm
