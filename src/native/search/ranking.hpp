// From sums of products to ranks: the last step of the search, where the metric comes in.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "random/counter_random.hpp"
#include "search/search.hpp"

namespace cofire {

// What is known of one neuron: the weighted sum of its squared activations.
struct Strength {
    double square = 0.0, inverse_norm = 0.0;
    Strength() : Strength(0.0) {}
    explicit Strength(double sum)
        : square(sum), inverse_norm(1.0 / std::sqrt(std::max(sum, 1e-12))) {}
};

// To the nearest multiple of 2^-16, so that the rounding of a sum does not decide. NaN becomes 0.
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
            // The difference of equals is 0, whatever the rounding of the sums.
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

// What a score of n samples must exceed: the gate, in standard errors of a correlation.
inline double gate_of(const SearchRequest& request, int layer, int64_t n) {
    if (request.gate.empty() || request.gate[layer] < 0.0)
        return -std::numeric_limits<double>::infinity();
    return request.gate[layer] / std::sqrt(static_cast<double>(std::max<int64_t>(n, 1)));
}

inline bool is_cosine(Metric metric) {
    return metric == Metric::cosine || metric == Metric::pearson || metric == Metric::lowest_cosine;
}

// No pair with an inactive neuron, whose product is 0, ranks higher.
inline uint32_t highest_inactive_rank(Metric metric) {
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

// ---- drawing in place of choosing the best ------------------------------------------------------

// Draws pairs with probabilities in proportion to a power of their score, without replacement: the
// n largest of score / E^(1 / sharpness), E exponential and one for each pair, are such a draw
// (Efraimidis & Spirakis, 2006); the same whichever thread looks at which pair when.
class Draw {
public:
    Draw(int sharpness, const RandomKey& random, int layer)
        : numbers_(random.stream(Stream::draws, layer)), sharpness_(sharpness) {}

    // The score divided so; 0 where that is surely not more than `low`.
    double operator()(double score, int64_t index, double low) const {
        const double u = uniform(index);
        if (low > 0.0 && 1.0 - u >= most(score, low)) return 0.0;
        return score * std::pow(-std::log(u), -1.0 / sharpness_);
    }

    // Whether it is surely 0 for every score up to this one.
    bool is_out(double score, int64_t index, double low) const {
        return low > 0.0 && 1.0 - uniform(index) >= most(score, low);
    }

private:
    CounterRandom numbers_;
    int sharpness_;

    // exp(-E), and so >= 1 - E
    double uniform(int64_t index) const { return (numbers_.at(index) + 0.5) * 0x1p-32; }
    // For E.
    double most(double score, double low) const {
        const double ratio = score / low;
        double power = 1.0;
        for (int p = 0; p < sharpness_; p++) power *= ratio;
        return power;
    }
};

// Ranks of what Draw returns.
[[gnu::always_inline]] inline uint32_t drawn_rank_of(double score) { return significant(score); }
inline double drawn_score_of_rank(uint32_t rank) { return std::bit_cast<float>(rank << 7); }

// ---- a strict order -----------------------------------------------------------------------------

// A pair of neurons with its rank. Higher ranks come first; among equals the larger `tie`, then the
// smaller index: a strict order, so the best n are one set, whichever thread found them and when.
struct RankedPair {
    uint64_t key;
    int64_t index;
    RankedPair(uint32_t rank, uint32_t tie, int64_t at)
        : key(uint64_t{rank} << 32 | tie), index(at) {}
    uint32_t rank() const { return static_cast<uint32_t>(key >> 32); }
    bool operator<(const RankedPair& other) const {  // comes before
        return key != other.key ? key > other.key : index < other.index;
    }
};

// Makes ranked pairs of one layer from flat indices, and back. Among equals the larger random
// number comes first, or with Ties::index the smaller index, counted input by input.
class TieBreak {
public:
    TieBreak(Ties ties, const RandomKey& random, int layer, int64_t n_in, int64_t n_out)
        : ties_(ties), numbers_(random.stream(Stream::ties, layer)), n_in_(n_in), n_out_(n_out) {}

    RankedPair ranked(uint32_t rank, int64_t flat_index) const {
        if (ties_ == Ties::random) return {rank, numbers_.at(flat_index), flat_index};
        return {rank, 0, flat_index % n_in_ * n_out_ + flat_index / n_in_};
    }
    int64_t flat_index(const RankedPair& pair) const {
        if (ties_ == Ties::random) return pair.index;
        return pair.index % n_out_ * n_in_ + pair.index / n_out_;
    }
    std::vector<int64_t> flat_indices(const std::vector<RankedPair>& pairs) const {
        std::vector<int64_t> found;
        for (const RankedPair& pair : pairs) found.push_back(flat_index(pair));
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    Ties ties_;
    CounterRandom numbers_;
    int64_t n_in_, n_out_;
};

}  // namespace cofire
