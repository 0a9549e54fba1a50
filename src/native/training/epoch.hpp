// One epoch of training, and prediction: what the module offers to Python.
#pragma once

#include <functional>
#include <vector>

#include "training/augmentation.hpp"
#include "training/input_dropout.hpp"
#include "training/plan.hpp"
#include "training/rows.hpp"
#include "training/targets.hpp"

namespace cofire {

struct Batches {
    const int64_t* order = nullptr;  // row numbers, batch after batch
    int64_t n_rows = 0, batch_size = 0;
    bool drop_last = false;                      // leave out a last batch that is not full
    const Augmentation* augmentation = nullptr;  // of dense rows, or none
    double largest_input = 0;                    // no value of the rows is larger in size
    InputDropout input_dropout;
};

struct Optimizer {
    enum class Kind { sgd, adam } kind = Kind::sgd;
    float learning_rate = 0, alpha = 0;
    float momentum = 0;  // sgd
    bool nesterov = false;
    float beta_1 = 0, beta_2 = 0, epsilon = 0;  // adam
    int64_t steps_done = 0;
};

struct EpochResult {
    double loss = 0;  // mean over the samples trained on, as each batch saw it, without the L2 term
    int64_t n_steps = 0;
    bool interrupted = false;
    int diverged_layer = -1;     // the first layer with a value that is not finite, or -1
    std::vector<int64_t> fired;  // per hidden layer: units that fired and were heard
};

// How a batch is cut: by its size and the network's width alone, never by the number of threads.
struct Tiling {
    int n_tiles, tile_size, n_groups;
    Tiling(int64_t n_samples, int64_t widest);
};

// Trains in place; on divergence the caller's arrays are left as they were. Values beyond float32
// are divergence, also where only the network at the end gives them. interrupted() is asked
// now and then on the calling thread; when it says yes, the epoch ends after the step.
EpochResult train_epoch(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                        const Rows& rows, const Targets& targets, const float* sample_weight,
                        const Batches& batches, const Optimizer& optimizer, int n_threads,
                        const std::function<bool()>& interrupted);

// out (n_rows x n_out, sample-major) = predictions for the rows; false if interrupted.
bool predict(const std::vector<LayerView>& layers, Activation activation, Loss loss,
             const Rows& rows, float* out, int n_threads, const std::function<bool()>& interrupted);

}  // namespace cofire
