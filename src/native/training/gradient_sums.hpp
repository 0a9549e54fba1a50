// The gradients of a step: sums over groups of tiles, in the order of the parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "training/plan.hpp"

namespace cofire {

// Of one group of tiles, per layer.
struct GradientSums {
    std::vector<Floats> weights, bias;
    std::vector<std::vector<double>> exact_weights, exact_bias;

    GradientSums(const Plan& plan, bool exact) {
        for (const PlanLayer& layer : plan.layers) {
            weights.emplace_back(layer.weights.n_live + 16, 0.0f);
            bias.emplace_back(layer.bias.n_live + 16, 0.0f);
            exact_weights.emplace_back(exact ? layer.weights.n_live : 0, 0.0);
            exact_bias.emplace_back(exact ? layer.bias.n_live : 0, 0.0);
        }
    }
    void clear_exact() {
        for (auto* arrays : {&exact_weights, &exact_bias})
            for (auto& array : *arrays) std::fill(array.begin(), array.end(), 0.0);
    }
};

// The exact sums of the first n_groups, divided and rounded: they become the first group's sums.
inline void round_exact_sums(std::vector<GradientSums>& groups, int n_groups, double divisor) {
    const auto round = [&](auto exact, auto rounded) {
        for (std::size_t l = 0; l < (groups[0].*exact).size(); l++)
            for (std::size_t k = 0; k < (groups[0].*exact)[l].size(); k++) {
                double total = 0;
                for (int g = 0; g < n_groups; g++) total += (groups[g].*exact)[l][k];
                (groups[0].*rounded)[l][k] = static_cast<float>(total / divisor);
            }
    };
    round(&GradientSums::exact_weights, &GradientSums::weights);
    round(&GradientSums::exact_bias, &GradientSums::bias);
}

}  // namespace cofire
