// The activations of one tile, and the way through the network that fills them.
#pragma once

#include <vector>

#include "training/plan.hpp"

namespace cofire {

// A block of rows per level, and behind it a row of zeros.
struct TileSpace {
    std::vector<Floats> level;
    TileSpace() = default;
    TileSpace(const Plan& plan, int tile_size) {
        for (int64_t n : plan.n_live) level.emplace_back((n + 1) * tile_size + 16, 0.0f);
    }
};

// From level 0, which is filled, up to the last level wanted.
inline void forward_through(const Plan& plan, const Kernels& kernels, int n8, TileSpace& space,
                            int last_level) {
    for (int l = 0; l < last_level; l++)
        kernels.forward(n8, plan.layers[l].by_output(), plan.layers[l].bias.value.data(),
                        space.level[l].data(), space.level[l + 1].data(), plan.activation_of(l),
                        plan.is_far(l, n8));
}

inline void forward_through(const Plan& plan, const Kernels& kernels, int n8, TileSpace& space) {
    forward_through(plan, kernels, n8, space, plan.n_layers());
}

}  // namespace cofire
