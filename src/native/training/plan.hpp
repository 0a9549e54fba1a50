// The working copy of a network for one native call: only what can matter, in fast order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "kernels/kernels.hpp"

namespace cofire {

// Rows of a tile start on cache lines.
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

// One parameter array with its optimiser state: velocity for SGD, two moments for Adam.
struct ParameterView {
    float* value = nullptr;
    float* first = nullptr;
    float* second = nullptr;
};

// A layer as the caller holds it: CSR by output neuron.
struct LayerView {
    int64_t n_in = 0, n_out = 0;
    const int64_t* indptr = nullptr;
    const int32_t* indices = nullptr;
    ParameterView weights, bias;
    int64_t n_connections() const { return indptr[n_out]; }
};

// A copy of a parameter array, the live ones first, with the place each came from.
struct Parameters {
    std::vector<int64_t> origin;
    int64_t n_live = 0;
    Floats value, first, second;

    void take(const ParameterView& view);
    void give_back(const ParameterView& view) const;
    bool all_finite() const;  // the moments too: one that is infinite stops its parameter for good
};

struct PlanLayer {
    // Live connections by input neuron: the order of the parameters and their gradients.
    std::vector<int64_t> input_start;
    std::vector<int32_t> input_other;
    // The same by output neuron, with a copy of the weights that forward reads in order.
    std::vector<int64_t> output_start;
    std::vector<int32_t> output_other;
    Floats output_weight;
    std::vector<int32_t> output_place;  // where parameter k stands in the order by output

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
    training,    // a bias may rise during the call, so its momentum is looked at too
    prediction,  // only what reaches an output matters
    every_unit,  // all activations are wanted, also of neurons nobody listens to
};

using Marks = std::vector<std::vector<uint8_t>>;  // per level and neuron

// Neurons that provably change nothing are left out: those without a path to an output, and
// ReLU neurons that stay at zero because nothing but a bias <= 0 reaches them.
struct Plan {
    Activation activation = Activation::relu;
    std::vector<int64_t> sizes;                 // all neurons: inputs, hidden layers, outputs
    std::vector<std::vector<int32_t>> live_at;  // neuron -> its row in a tile, or -1
    std::vector<int64_t> n_live;
    std::vector<PlanLayer> layers;

    // wanted: only what these neurons depend on, or nullptr: all.
    Plan(const std::vector<LayerView>& views, Activation activation, Purpose purpose,
         const Marks* wanted = nullptr);
    int n_layers() const { return static_cast<int>(layers.size()); }
    Activation activation_of(int layer) const {
        return layer + 1 < n_layers() ? activation : Activation::identity;
    }
    int64_t widest() const;
    // Whether inputs of this size at most surely give finite outputs, by the size of the weights.
    bool stays_finite(double largest_input) const;
    // Of the layers below a level: a multiply-add each for every sample.
    int64_t n_connections(int level) const {
        int64_t n = 0;
        for (int l = 0; l < level; l++) n += layers[l].weights.n_live;
        return n;
    }
    // Beyond about L2, rows are asked for ahead of their use.
    bool is_far(int level, int n8) const { return n_live[level] * n8 * 32 > 1024 * 1024; }
};

}  // namespace cofire
