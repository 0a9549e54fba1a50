// From sums of products to ranks: the last step of the search, where the metric comes in.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "search/search.hpp"

namespace cofire {

// What is known of a neuron alone: the weighted sum of its squared activations.
struct Strength {
    double square = 0.0, inverse_norm = 0.0;
    Strength() : Strength(0.0) {}
    explicit Strength(double sum)
        : square(sum), inverse_norm(1.0 / std::sqrt(std::max(sum, 1e-12))) {}
};

// To the nearest multiple of 2^-16: what rounding does to a sum must not decide. NaN becomes 0.
[[gnu::always_inline]] inline uint32_t fixed_point(double x) {
    x = x * 65536.0 + 0.5;
    return x < 2147483648.0 ? static_cast<uint32_t>(static_cast<int32_t>(x)) : 0;
}

// A number >= 0 that has no upper bound, to 17 significant binary digits and in the same order.
[[gnu::always_inline]] inline uint32_t significant(double x) {
    const float rounded = static_cast<float>(x);
    if (!(rounded >= 0.0f)) return 0;  // NaN
    return (std::bit_cast<uint32_t>(rounded) + (1u << 6)) >> 7;
}

constexpr uint32_t kOne = 1u << 16;  // the rank of a cosine of 1

// The higher the better. product is the weighted sum of input * output.
[[gnu::always_inline]] inline double score_of(Metric metric, double product, const Strength& input,
                                              const Strength& output) {
    switch (metric) {
        case Metric::cosine:
        case Metric::pearson: return std::abs(product) * input.inverse_norm * output.inverse_norm;
        case Metric::lowest_cosine:
            return -std::abs(product) * input.inverse_norm * output.inverse_norm;
        case Metric::hebb:
        case Metric::gradient: return std::abs(product);
        case Metric::euclidean: {
            // What float sums leave of a difference of equals is nothing.
            const double both = input.square + output.square, square = both - 2.0 * product;
            return 1.0 / (1.0 + std::sqrt(square < both * 0x1p-20 ? 0.0 : square));
        }
    }
    return 0.0;
}

[[gnu::always_inline]] inline uint32_t rank_of(Metric metric, double score) {
    switch (metric) {
        case Metric::cosine:
        case Metric::pearson: return fixed_point(score);
        case Metric::lowest_cosine: return kOne - std::min(kOne, fixed_point(-score));
        case Metric::hebb:
        case Metric::gradient:
        case Metric::euclidean: return significant(score);
    }
    return 0;
}

// What rank_of rounds to.
inline double score_of_rank(Metric metric, uint32_t rank) {
    switch (metric) {
        case Metric::cosine:
        case Metric::pearson: return rank / static_cast<double>(kOne);
        case Metric::lowest_cosine: return rank / static_cast<double>(kOne) - 1.0;
        case Metric::hebb:
        case Metric::gradient:
        case Metric::euclidean: return std::bit_cast<float>(rank << 7);
    }
    return 0.0;
}

// The same for scores that chance has multiplied (draw.hpp).
[[gnu::always_inline]] inline uint32_t drawn_rank_of(double score) { return significant(score); }
inline double drawn_score_of_rank(uint32_t rank) { return std::bit_cast<float>(rank << 7); }

// What a score must exceed where n samples show it: so many standard errors of a correlation.
inline double gate_of(const SearchRequest& request, int layer, int64_t n) {
    if (request.gate.empty() || request.gate[layer] < 0.0)
        return -std::numeric_limits<double>::infinity();
    return request.gate[layer] / std::sqrt(static_cast<double>(std::max<int64_t>(n, 1)));
}

inline bool is_cosine(Metric metric) {
    return metric == Metric::cosine || metric == Metric::pearson || metric == Metric::lowest_cosine;
}

// No pair with a silent neuron, whose product is 0, ranks higher.
inline uint32_t highest_silent_rank(Metric metric) {
    switch (metric) {
        case Metric::cosine:
        case Metric::pearson:
        case Metric::hebb:
        case Metric::gradient: return 0;
        case Metric::lowest_cosine:
        case Metric::euclidean: return UINT32_MAX;
    }
    return 0;
}

}  // namespace cofire
