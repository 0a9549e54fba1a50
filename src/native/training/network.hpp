// A network as the caller holds it: views of arrays, nothing of its own.
//
// A layer is the connections between two stages of neurons: stage 0 are the inputs, stage l + 1 the
// neurons of layer l, the last stage the outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/functions.hpp"
#include "kernels/optimizers.hpp"

namespace cofire {

// One parameter array, and its moments where an optimiser keeps some.
struct ParameterView {
    float* value = nullptr;
    float* moments[kMaxMoments] = {};
};

// CSR by output neuron. The connection from input i to output o has the flat index o * n_in + i.
struct LayerView {
    int64_t n_in = 0, n_out = 0;
    const int64_t* indptr = nullptr;
    const int32_t* indices = nullptr;
    ParameterView weights, bias;

    int64_t n_connections() const { return indptr[n_out]; }
    int64_t n_pairs() const { return n_in * n_out; }
};

struct NetworkView {
    std::vector<LayerView> layers;
    Activation activation = Activation::relu;
    Output output = Output::softmax;

    int n_layers() const { return static_cast<int>(layers.size()); }
    int64_t n_in() const { return layers.front().n_in; }
    int64_t n_out() const { return layers.back().n_out; }
    int64_t n_neurons(int stage) const { return stage == 0 ? n_in() : layers[stage - 1].n_out; }
};

}  // namespace cofire
