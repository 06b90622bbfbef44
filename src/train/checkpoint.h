// SPDX-License-Identifier: Apache-2.0
// What a run needs to go on as if it had never ended, in files that are whole or absent.
//
// checkpoint-STEP.rck: "RUDDERCK", u32 version, u32 bytes of the header, the header (JSON, padded with spaces
// to a multiple of 8), f32 arrays (parameters, mean, square, the best
// epoch's parameters if there is one, losses), SHA-256 of all before. Little-endian.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rudder/core/result.h"
#include "rudder/train/options.h"

#include "train/learner.h"

namespace rudder::train {

/// The best of the epochs that were evaluated in training.
struct BestEpoch {
  std::uint32_t epoch = 0;
  double accuracy = 0;                 ///< on the validation nodes
  std::vector<float> parameters = {};  ///< after it
};

/// Everything else (batches, neighbours, dropout) is a function of the options and the position.
struct Checkpoint {
  std::string identity;  ///< what decides the losses, as a JSON object; another one cannot go on from here
  std::uint64_t next_step = 0;  ///< optimizer steps of the run that are done
  LearnerState learner = {};
  std::vector<float> losses;        ///< rank 0's, of every step done
  double epoch_loss = 0;            ///< global losses of the unfinished epoch, summed
  std::vector<EpochResult> epochs;  ///< finished
  std::optional<BestEpoch> best = std::nullopt;
};

[[nodiscard]] std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint);
/// Errors (kInvalidData, beginning with `where`) for anything that encode_checkpoint does not write.
[[nodiscard]] Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes,
                                                   const std::string& where);

/// The names of the fields in which two identities differ, with both values; empty when there is none.
[[nodiscard]] std::string identity_difference(const std::string& saved, const std::string& now);

/// Writes `checkpoint` into the folder, durably, and removes all but the `keep` newest ones (at least 1) of
/// this step and before. Later ones are damaged: whoever goes on from an earlier step has passed them over.
[[nodiscard]] Status save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                                     std::size_t keep);
/// The newest one that is whole; damaged ones are warned of and passed over. Empty when the folder has none
/// or does not exist. An error when there are some, but all are damaged.
[[nodiscard]] Result<std::optional<Checkpoint>> load_checkpoint(const std::filesystem::path& folder);

/// Writes on a thread of its own, so that training goes on meanwhile.
class CheckpointWriter {
 public:
  /// Makes the folder and locks it for this process; removes what a killed one left half-written. Errors: it
  /// cannot be written to, another process has it, or it has checkpoints although the run is `fresh`.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointWriter>> open(const std::filesystem::path& folder,
                                                                      std::size_t keep, bool fresh);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Takes over; one that still waits is replaced by the newer one. A write that fails is warned of at once.
  void submit(Checkpoint checkpoint);
  /// Waits until what was submitted is written. The error of the last write.
  [[nodiscard]] Status finish();

 private:
  CheckpointWriter(std::filesystem::path folder, std::size_t keep, int lock);
  void run();

  const int lock_;  ///< the folder's descriptor, which holds the lock
  const std::filesystem::path folder_;
  const std::size_t keep_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Checkpoint> waiting_;
  bool writing_ = false;
  bool stopping_ = false;
  Status last_;
  std::thread thread_;
};

}  // namespace rudder::train
