// The functions that follow the layers of a network: a table each, with what the rest of the code
// may rely on. A new function needs its row here and a case in the switches that the compiler then
// complains about (-Wswitch); where else its properties matter, the code asks these tables.
#pragma once

#include <cstddef>

namespace cofire {

// Follows every layer but the last.
enum class Activation : int { relu, leaky_relu, tanh, identity };

// Follows the last layer, together with the loss that belongs to it.
enum class Output : int { softmax, sigmoid, identity };

constexpr float kLeakySlope = 0.01f;

struct ActivationTraits {
    const char* name;
    Activation value;
    // f(z) = 0 just where z <= 0, and its derivative is 0 there too: a neuron at 0 passes on
    // neither a signal nor a gradient, and one that nothing but a bias <= 0 reaches stays at 0.
    bool dead_below_zero;
    bool never_negative;
    double gain, offset;  // |f(z)| <= gain * |z| + offset
};

constexpr ActivationTraits kActivations[] = {
    {"relu", Activation::relu, true, true, 1.0, 0.0},
    {"leaky_relu", Activation::leaky_relu, false, false, 1.0, 0.0},
    {"tanh", Activation::tanh, false, false, 1.0, 0.0},
    {"identity", Activation::identity, false, false, 1.0, 0.0},
};

struct OutputTraits {
    const char* name;
    Output value;
    bool is_probability;     // each output lies in [0, 1]
    bool has_class_targets;  // a target is the number of a class, else a number per output
    bool is_joint;           // each output depends on the sums of all of them
};

constexpr OutputTraits kOutputs[] = {
    {"softmax", Output::softmax, true, true, true},
    {"sigmoid", Output::sigmoid, true, false, false},
    {"identity", Output::identity, false, false, false},
};

// A row of a table that has names only.
template <class Enum> struct Named {
    const char* name;
    Enum value;
};

// Whether row k of a table is that of the k-th enumerator.
template <class Row, std::size_t N> consteval bool is_in_order(const Row (&table)[N]) {
    for (std::size_t k = 0; k < N; k++)
        if (static_cast<std::size_t>(table[k].value) != k) return false;
    return true;
}
static_assert(is_in_order(kActivations) && is_in_order(kOutputs));

// Static, as the kernels use them: see vectors.hpp.
static constexpr const ActivationTraits& traits(Activation activation) {
    return kActivations[static_cast<int>(activation)];
}
static constexpr const OutputTraits& traits(Output output) {
    return kOutputs[static_cast<int>(output)];
}

}  // namespace cofire
