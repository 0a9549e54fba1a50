// What all parts of one search share.
#pragma once

#include <cstdint>
#include <vector>

#include "search/ranking.hpp"
#include "search/search.hpp"
#include "threads/workers.hpp"
#include "training/plan.hpp"

namespace cofire {

// What signals are compared about, per stage and neuron: each neuron's mean, which makes a cosine
// Pearson's correlation. Empty: zero.
struct Centres {
    std::vector<std::vector<float>> mean;
    Marks varies;  // by more than rounding
};

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
