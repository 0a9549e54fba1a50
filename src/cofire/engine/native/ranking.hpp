// From sums of products to ranks: the last step of the search, where the metric comes in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "search.hpp"

namespace cofire {

// What is known of a neuron alone: the weighted sum of its squared activations.
struct Strength {
    double square = 0.0, inverse_norm = 0.0;
    Strength() : Strength(0.0) {}
    explicit Strength(double sum)
        : square(sum), inverse_norm(1.0 / std::sqrt(std::max(sum, 1e-12))) {}
};

// To the nearest multiple of 2^-16: what rounding does to a sum must not decide. NaN becomes 0.
inline uint32_t fixed_point(double x) {
    x = x * 65536.0 + 0.5;
    return x < 2147483648.0 ? static_cast<uint32_t>(static_cast<int32_t>(x)) : 0;
}

// The higher the better. product is the weighted sum of input * output.
inline uint32_t rank_of(Metric metric, double product, const Strength& input,
                        const Strength& output) {
    switch (metric) {
        case Metric::cosine:
            return fixed_point(std::abs(product) * input.inverse_norm * output.inverse_norm);
    }
    return 0;
}

// The highest rank that a pair with a silent neuron can have.
inline uint32_t highest_silent_rank(Metric metric) {
    switch (metric) {
        case Metric::cosine: return 0;
    }
    return 0;
}

}  // namespace cofire
