// One epoch of training, and prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "threads/workers.hpp"
#include "training/augmentation.hpp"
#include "training/network.hpp"
#include "training/targets.hpp"

namespace cofire {

// How an epoch walks through the samples.
struct Batches {
    const int64_t* order = nullptr;  // row ids, batch after batch
    int64_t n_rows = 0, batch_size = 0;
    bool drop_last = false;                    // leave out a last batch that is not full
    std::optional<Augmentation> augmentation;  // of dense rows
    double input_dropout = 0.0;                // fraction of the values, in [0, 1)
    Passes passes;                             // random numbers of augmentation and dropout
};

struct Optimizer {
    int kind = 0;  // its row in kOptimizers
    float learning_rate = 0, alpha = 0;
    float settings[kMaxSettings] = {};
    int64_t steps_done = 0;

    const OptimizerTraits& traits() const { return kOptimizers[kind]; }
};

struct EpochResult {
    double loss = 0;  // mean over the samples trained on, as each batch saw it, without the L2 term
    int64_t n_steps = 0;
    bool interrupted = false;
    int diverged_layer = -1;  // the first layer with a value that is not finite, or -1
    std::vector<int64_t>
        fired;  // per hidden layer: neurons that fired and have a path to an output
};

// Trains in place; on divergence the caller's arrays are left as they were. Values beyond float32
// are divergence, also where only the network at the end gives them. An interrupted epoch ends
// after a whole step.
EpochResult train_epoch(const NetworkView& network, const Samples& samples, const Batches& batches,
                        const Optimizer& optimizer, const CallContext& context);

// Prediction gives a thread so many rows at a time: enough to be worth taking.
constexpr int64_t kRowsPerTask = 1024;

// out (n_rows x n_out, sample-major) = predictions for the rows, the mean of those of all networks;
// false if interrupted.
bool predict(const std::vector<NetworkView>& networks, const Rows& rows, float* out,
             const CallContext& context);

}  // namespace cofire
