// How the pairs of neurons are cut into windows, each small enough to hold its sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"

namespace cofire {

constexpr int64_t kMaxSide = 1056;  // neurons of a window on either side, a multiple of 48

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Some neurons on one side of a layer that can fire, as panels.
struct Side {
    int64_t begin, end;  // among the neurons of the stage that can fire
    int panel_size;
    int64_t panels_at;  // in neurons, counted through the panels of the pass
    int64_t n_panels() const { return divide_up(end - begin, panel_size); }
    int64_t n_padded() const { return n_panels() * panel_size; }
};

// Some outputs against some inputs of one layer; stage `layer` holds the inputs.
struct Window {
    int layer;
    Side outputs, inputs;
    int64_t sums_at;
    int64_t n_sums() const { return outputs.n_padded() * inputs.n_padded(); }
};

// The windows that are filled together, in one walk over the rows.
struct Pass {
    std::vector<Window> windows;
    int64_t n_sums = 0, n_neurons = 0;
    int last_stage = 0;
};

// How many neurons on the two sides of a layer have a signal.
struct Shape {
    int64_t n_in, n_out;
};

// Layers that are not wanted get no window. The cut depends on nothing else.
inline std::vector<Pass> cut_into_passes(const std::vector<Shape>& shapes,
                                         const std::vector<int64_t>& n_wanted,
                                         const PanelShape& shape) {
    // Room for a padded layer of 1024 x 1024 and a small output layer: 8.5 MB of doubles.
    constexpr int64_t kMaxSums = 17 << 16, kMaxNeurons = 3 * kMaxSide;
    const auto side = [](int64_t n, int64_t most, int panel_size) {
        const int64_t per_window = divide_up(n, divide_up(n, most));
        return divide_up(per_window, panel_size) * panel_size;
    };
    std::vector<Pass> passes;
    for (int l = 0; l < static_cast<int>(n_wanted.size()); l++) {
        const auto [n_in, n_out] = shapes[l];
        if (n_wanted[l] == 0 || n_in == 0 || n_out == 0) continue;
        const int64_t inputs = side(n_in, kMaxSide, shape.n_inputs);
        const int64_t fitting = kMaxSums / inputs / shape.n_outputs * shape.n_outputs;
        const int64_t outputs = side(n_out, std::min(kMaxSide, fitting), shape.n_outputs);
        for (int64_t o = 0; o < n_out; o += outputs)
            for (int64_t i = 0; i < n_in; i += inputs) {
                Window w{l,
                         {o, std::min(o + outputs, n_out), shape.n_outputs, 0},
                         {i, std::min(i + inputs, n_in), shape.n_inputs, 0},
                         0};
                const int64_t n_neurons = w.outputs.n_padded() + w.inputs.n_padded();
                if (passes.empty() || passes.back().n_sums + w.n_sums() > kMaxSums ||
                    passes.back().n_neurons + n_neurons > kMaxNeurons)
                    passes.emplace_back();
                Pass& pass = passes.back();
                w.sums_at = pass.n_sums;
                w.outputs.panels_at = pass.n_neurons;
                w.inputs.panels_at = pass.n_neurons + w.outputs.n_padded();
                pass.n_sums += w.n_sums();
                pass.n_neurons += n_neurons;
                pass.last_stage = std::max(pass.last_stage, l + 1);
                pass.windows.push_back(w);
            }
    }
    return passes;
}

}  // namespace cofire
