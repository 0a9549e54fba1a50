// The working copy of a network for one native call: only what can matter, in fast order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "kernels/kernels.hpp"
#include "training/network.hpp"

namespace cofire {

// Tile rows start on cache lines.
template <class T> struct CacheAligned {
    using value_type = T;
    CacheAligned() = default;
    template <class U> CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) {
        return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
    template <class U> bool operator==(const CacheAligned<U>&) const { return true; }
};
using Floats = std::vector<float, CacheAligned<float>>;

// A copy of a parameter array and its moments, the live ones first.
struct Parameters {
    std::vector<int64_t> origin;  // index of each in the caller's array
    int64_t n_live = 0;
    Floats value;
    std::array<Floats, kMaxMoments> moments;  // empty where the caller has none

    void copy_from(const ParameterView& view);
    void copy_to(const ParameterView& view) const;
    bool all_finite() const;  // the moments too: an infinite one stops its parameter for good
};

struct PlanLayer {
    // Live connections by input neuron: the order of the parameters and their gradients.
    std::vector<int64_t> input_start;
    std::vector<int32_t> input_other;
    // The same by output neuron, with a copy of the weights that forward reads in order.
    std::vector<int64_t> output_start;
    std::vector<int32_t> output_other;
    Floats output_weight;
    std::vector<int32_t> output_position;  // of parameter k in the order by output

    Parameters weights, bias;

    Connections by_input() const {
        return {static_cast<int64_t>(input_start.size()) - 1, input_start.data(),
                input_other.data(), weights.value.data()};
    }
    Connections by_output() const {
        return {static_cast<int64_t>(output_start.size()) - 1, output_start.data(),
                output_other.data(), output_weight.data()};
    }
    void copy_weights_to_output_order(int64_t begin, int64_t end);
};

enum class Purpose {
    training,    // a bias may rise during the call, so its velocity is looked at too
    prediction,  // only what reaches an output matters
    every_unit,  // all activations are wanted, also of neurons without a path to an output
};

using Marks = std::vector<std::vector<uint8_t>>;  // per stage and neuron

// A block of tile rows per stage, and behind it one of zeros.
struct TileSpace {
    std::vector<Floats> stage;
};
TileSpace tile_space(const std::vector<int64_t>& n_neurons, int tile_size);

// Beyond about the size of the second cache, tile rows are prefetched.
inline bool beyond_cache(int64_t n_neurons, int n8) { return n_neurons * n8 * 32 > 1024 * 1024; }

// Neurons that provably change nothing are left out: those without a path to an output, and
// neurons that stay at zero because nothing but a bias <= 0 reaches them (dead_below_zero).
struct Plan {
    Activation activation = Activation::relu;
    std::vector<int64_t> sizes;                  // per stage: all neurons
    std::vector<std::vector<int32_t>> tile_row;  // per stage: of each neuron, or -1
    std::vector<int64_t> n_live;                 // per stage: neurons that are not left out
    std::vector<PlanLayer> layers;

    // wanted: only what these neurons depend on, or nullptr: all.
    Plan(const NetworkView& network, Purpose purpose, const Marks* wanted = nullptr);

    int n_layers() const { return static_cast<int>(layers.size()); }
    int last_stage() const { return n_layers(); }
    Activation activation_of(int layer) const {
        return layer + 1 < n_layers() ? activation : Activation::identity;
    }
    int64_t widest() const;
    // Of the layers below a stage: a multiply-add each for every sample.
    int64_t n_connections(int stage) const {
        int64_t n = 0;
        for (int l = 0; l < stage; l++) n += layers[l].weights.n_live;
        return n;
    }
    // Whether inputs of this size at most surely give finite outputs, by the size of the weights.
    bool stays_finite(double largest_input) const;
    bool is_far(int stage, int n8) const { return beyond_cache(n_live[stage], n8); }

    TileSpace make_space(int tile_size) const { return tile_space(n_live, tile_size); }
    // Fills the stages 1 … last from stage 0.
    void forward(const Kernels& kernels, int n8, TileSpace& space, int last) const;
};

// How a batch is cut: by its size and the network's width alone, never by the number of threads.
struct Tiling {
    int n_tiles, tile_size, n_groups;
    Tiling(int64_t n_samples, int64_t widest);
};

}  // namespace cofire
