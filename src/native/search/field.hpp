// Who runs in a race.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace cofire {

// The candidates of one layer, and what the race finds out about them.
struct Field {
    int64_t n_wanted = 0;
    std::vector<int64_t> places;
    std::vector<double> scores;    // at first those of the sketch
    std::vector<uint8_t> quarter;  // by the sketch: 0 the best, 1 the next, 2 the second half
    double expected_errors = 0.0;  // among those chosen

    // Halfway between the last one in and the first one out.
    double limit() const {
        std::vector<double> all = scores;
        const auto last = all.begin() + (n_wanted - 1);
        std::nth_element(all.begin(), last, all.end(), std::greater<>());
        return (*last + *std::max_element(last + 1, all.end())) / 2;
    }
};

}  // namespace cofire
