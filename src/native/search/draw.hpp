// Drawing in place of choosing the best: places with chances in proportion to a power of their
// score, without replacement.
#pragma once

#include <cmath>
#include <cstdint>

#include "random/counter_random.hpp"

namespace cofire {

// The n largest of score / E^(1 / sharpness), E exponential and one for each place, are such a
// draw (Efraimidis & Spirakis, 2006); the same whoever looks at which place when.
class Draw {
public:
    Draw(int sharpness, const RandomKey& random, int layer)
        : numbers_(random.stream(Stream::draws, layer)), sharpness_(sharpness) {}

    // What the score comes to; 0 where that is surely not more than `low`.
    double operator()(double score, int64_t place, double low) const {
        const double chance = (numbers_.at(place) + 0.5) * 0x1p-32;  // exp(-E), and so >= 1 - E
        if (low > 0.0) {
            const double ratio = score / low;
            double most = 1.0;  // for E
            for (int p = 0; p < sharpness_; p++) most *= ratio;
            if (1.0 - chance >= most) return 0.0;
        }
        return score * std::pow(-std::log(chance), -1.0 / sharpness_);
    }

private:
    CounterRandom numbers_;
    int sharpness_;
};

}  // namespace cofire
