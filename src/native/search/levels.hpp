// Who has a signal, and how strong it is.
#pragma once

#include <cstdint>
#include <vector>

#include "search/ranking.hpp"
#include "training/plan.hpp"

namespace cofire {

// The neurons of a level: first those with a signal for some row, then the silent ones.
struct Level {
    std::vector<int32_t> neuron;    // ascending in both parts
    std::vector<int32_t> tile_row;  // of those that have one
    std::vector<Strength> strength;
    int64_t n_firing() const { return static_cast<int64_t>(tile_row.size()); }
    int64_t n_neurons() const { return static_cast<int64_t>(neuron.size()); }
};

// Per level, the sum of squares of each neuron's signal.
struct Squares {
    std::vector<std::vector<double>> level;
    explicit Squares(const Plan& plan) {
        for (int64_t n : plan.n_live) level.emplace_back(n, 0.0);
    }
};

inline Level level_of(const std::vector<int32_t>& live_at, const std::vector<double>& squares) {
    Level level;
    std::vector<int32_t> silent;
    for (int32_t j = 0; j < static_cast<int32_t>(live_at.size()); j++) {
        const int32_t row = live_at[j];
        if (row >= 0 && squares[row] > 0.0) {
            level.neuron.push_back(j);
            level.tile_row.push_back(row);
            level.strength.emplace_back(squares[row]);
        } else {
            silent.push_back(j);
        }
    }
    level.neuron.insert(level.neuron.end(), silent.begin(), silent.end());
    level.strength.resize(live_at.size());
    return level;
}

// The sums of the groups are added in their order.
inline std::vector<Level> levels_of(const Plan& plan, std::vector<Squares>& groups) {
    std::vector<Level> levels;
    for (int v = 0; v <= plan.n_layers(); v++) {
        std::vector<double>& sums = groups[0].level[v];
        for (std::size_t g = 1; g < groups.size(); g++)
            for (int64_t j = 0; j < plan.n_live[v]; j++) sums[j] += groups[g].level[v][j];
        levels.push_back(level_of(plan.live_at[v], sums));
    }
    return levels;
}

}  // namespace cofire
