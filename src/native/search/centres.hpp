// What signals are compared about: zero, or each neuron's mean, which makes a cosine Pearson's
// correlation.
#pragma once

#include <cstdint>
#include <vector>

#include "training/plan.hpp"

namespace cofire {

// Per level and neuron; empty: zero.
struct Centres {
    std::vector<std::vector<float>> mean;
    Marks varies;  // by more than rounding

    bool empty() const { return mean.empty(); }

    // sums, squares: per level and row of a tile, of samples that weigh `weight` together.
    static Centres of(const Plan& plan, const std::vector<std::vector<double>>& sums,
                      const std::vector<std::vector<double>>& squares, double weight) {
        constexpr double kRounding = 0x1p-40;  // of the mean square
        Centres centres;
        for (std::size_t v = 0; v < plan.sizes.size(); v++) {
            std::vector<float> mean(plan.sizes[v], 0.0f);
            std::vector<uint8_t> varies(plan.sizes[v], 0);
            for (int64_t j = 0; j < plan.sizes[v]; j++) {
                const int32_t row = plan.live_at[v][j];
                if (row < 0 || weight <= 0.0) continue;
                const double sum = sums[v][row], square = squares[v][row];
                mean[j] = static_cast<float>(sum / weight);
                varies[j] = square - sum * sum / weight > kRounding * square;
            }
            centres.mean.push_back(std::move(mean));
            centres.varies.push_back(std::move(varies));
        }
        return centres;
    }
};

}  // namespace cofire
