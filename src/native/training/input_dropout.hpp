// Inputs that training does not see: chosen by chance, others in every epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"
#include "random/counter_random.hpp"

namespace cofire {

struct InputDropout {
    double share = 0.0;  // of the values, in [0, 1)
    RandomKey random;

    // A random number for each row of a tile; tile_row[f]: the row of feature f, or -1.
    std::vector<uint32_t> keys(const std::vector<int32_t>& tile_row, int64_t n_rows) const {
        const CounterRandom numbers = random.stream(Stream::dropout_features);
        std::vector<uint32_t> keys(n_rows);
        for (std::size_t f = 0; f < tile_row.size(); f++)
            if (tile_row[f] >= 0) keys[tile_row[f]] = numbers.at(static_cast<int64_t>(f));
        return keys;
    }

    // A tile with the rows ids[0 … n - 1] becomes what training sees of it. Whether a value goes
    // follows from its feature and the row's number, whatever the rows are made of and whoever
    // asks.
    void apply(const Kernels& kernels, const std::vector<uint32_t>& keys, const int64_t* ids, int n,
               int n8, float* tile) const {
        const CounterRandom numbers = random.stream(Stream::dropout_samples);
        uint32_t factor[kMaxTile], summand[kMaxTile];
        for (int s = 0; s < n8 * 8; s++) {
            const int64_t id = ids[s < n ? s : 0];
            factor[s] = numbers.at(2 * id);
            summand[s] = numbers.at(2 * id + 1);
        }
        constexpr double kNumbers = 4294967296.0;  // that a uint32_t can be
        const int64_t n_dropped = static_cast<int64_t>(share * kNumbers);
        kernels.drop_values(n8, static_cast<int64_t>(keys.size()), keys.data(), factor, summand,
                            static_cast<int32_t>(n_dropped + INT32_MIN),
                            static_cast<float>(1.0 / (1.0 - share)), tile);
    }
};

}  // namespace cofire
