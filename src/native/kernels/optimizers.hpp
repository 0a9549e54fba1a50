// The optimisers there are. A new one needs a row here, a rule in steps.hpp, and a class in
// src/cofire/core/optimizers.py.
#pragma once

#include <cstdint>

namespace cofire {

constexpr int kMaxSettings = 4;

struct OptimizerTraits {
    const char* name;
    // Arrays of numbers beside the parameters. The first must be a velocity: a parameter whose
    // gradient is 0 rises in a step only where its velocity is negative (Plan relies on it).
    int n_moments;
    // The numbers that it takes beside learning_rate and alpha, in the order of Step::settings.
    const char* settings[kMaxSettings];
};

constexpr OptimizerTraits kOptimizers[] = {
    {"sgd", 1, {"momentum", "nesterov"}},
    {"adam", 2, {"beta_1", "beta_2", "epsilon"}},
};
constexpr int kNumOptimizers = sizeof(kOptimizers) / sizeof(kOptimizers[0]);

consteval int most_moments() {
    int most = 0;
    for (const OptimizerTraits& row : kOptimizers)
        most = most < row.n_moments ? row.n_moments : most;
    return most;
}
constexpr int kMaxMoments = most_moments();

// What one step is made with.
struct Step {
    float learning_rate;
    float l2;                         // times the weight, it is added to the gradient
    const float* settings = nullptr;  // as in OptimizerTraits
    int64_t number = 1;               // of the step, counted from 1
};

// The parameters begin … end - 1, which a step changes. Gradients are summed in the order of the
// groups; the first n_live parameters have a gradient, that of the others is 0.
struct StepRange {
    int64_t begin, end, n_live;
    int n_groups;
    const float* const* gradients;  // per group
    float* weight;
    float* const* moments;
};

using StepKernel = void (*)(const StepRange& range, const Step& step);

}  // namespace cofire
