// What all parts of one search share.
#pragma once

#include <cstdint>
#include <vector>

#include "search/ranking.hpp"
#include "search/search.hpp"
#include "threads/workers.hpp"
#include "training/plan.hpp"

namespace cofire {

// What a neuron's signal is compared about: its mean, which makes a cosine Pearson's correlation.
struct Centre {
    float mean = 0.0f;
    bool varies = false;  // by more than rounding

    Centre() = default;
    // By weighted sums of the signal and of its square.
    Centre(double sum, double square, double weight) {
        constexpr double kRounding = 0x1p-40;  // of the mean square
        if (weight <= 0.0) return;
        mean = static_cast<float>(sum / weight);
        varies = square - sum * sum / weight > kRounding * square;
    }
    // Takes the mean from a tile row; 0 is left of a signal that does not vary.
    void apply(int64_t n_columns, float* tile_row) const {
        const float factor = varies ? 1.0f : 0.0f;
        for (int64_t s = 0; s < n_columns; s++) tile_row[s] = (tile_row[s] - mean) * factor;
    }
};
using Centres = std::vector<std::vector<Centre>>;  // per stage and neuron; empty: zero

struct SearchContext {
    const NetworkView& network;
    const SearchRequest& request;
    Workers& workers;
    const Kernels& kernels = cofire::kernels();
    const Plan plan{network, Purpose::every_unit};
    const int tile_size = Tiling(2 * kMaxTile, plan.widest()).tile_size;
    Centres centres = {};  // for correlations (find_centres in signals.hpp)

    int n_layers() const { return network.n_layers(); }
    int last_stage() const { return network.n_layers(); }
    // Pairs of a layer that may be found.
    int64_t n_free(int layer) const {
        return network.layers[layer].n_pairs() - request.kept[layer].size();
    }
    TieBreak tie_break(int layer) const {
        const LayerView& view = network.layers[layer];
        return {request.ties, request.random, layer, view.n_in, view.n_out};
    }
    Draw draw(int layer) const { return {request.sharpness, request.random, layer}; }
};

}  // namespace cofire
