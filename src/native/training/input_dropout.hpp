// Inputs that training takes for 0: chosen at random, differently in every pass over the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "random/counter_random.hpp"
#include "training/rows.hpp"

namespace cofire {

struct InputDropout {
    double fraction = 0.0;  // of the values, in [0, 1)
    Passes passes;

    // A random number for each tile row; tile_row[f]: that of feature f, or -1.
    std::vector<uint32_t> keys(const std::vector<int32_t>& tile_row, int64_t n_tile_rows) const {
        const CounterRandom numbers = passes.first.stream(Stream::dropout_features);
        std::vector<uint32_t> keys(n_tile_rows);
        for (std::size_t f = 0; f < tile_row.size(); f++)
            if (tile_row[f] >= 0) keys[tile_row[f]] = numbers.at(static_cast<int64_t>(f));
        return keys;
    }

    // A tile of samples becomes what training sees of it. Whether a value is dropped follows from
    // its feature, the number of its row and the pass, whatever the rows are made of and whichever
    // thread asks. The features have the keys of the call's first pass. position: of the first
    // sample in the order.
    void apply(const Kernels& kernels, const std::vector<uint32_t>& keys,
               const TileSamples& samples, int64_t position, float* tile) const {
        uint32_t factor[kMaxTile], summand[kMaxTile];
        for (int64_t s = 0; s < samples.n_columns(); s++) {
            const CounterRandom numbers =
                passes.at(position + (s < samples.n ? s : 0)).stream(Stream::dropout_samples);
            const int64_t row = passes.number(samples.id(s));
            factor[s] = numbers.at(2 * row);
            summand[s] = numbers.at(2 * row + 1);
        }
        constexpr double kNumbers = 4294967296.0;  // that a uint32_t can be
        const int64_t n_dropped = static_cast<int64_t>(fraction * kNumbers);
        kernels.drop_values(samples.n8(), static_cast<int64_t>(keys.size()), keys.data(), factor,
                            summand, static_cast<int32_t>(n_dropped + INT32_MIN),
                            static_cast<float>(1.0 / (1.0 - fraction)), tile);
    }
};

}  // namespace cofire
