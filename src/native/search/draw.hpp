// Drawing in place of choosing the best: places with chances in proportion to a power of their
// score, without replacement.
#pragma once

#include <cmath>
#include <cstdint>

#include "random/lots.hpp"

namespace cofire {

// The n largest of score / E^(1 / sharpness), E exponential and one for each place, are such a
// draw (Efraimidis & Spirakis, 2006); the same whoever looks at which place when.
class Draw {
public:
    Draw(int sharpness, uint64_t seed, int layer, uint64_t epoch)
        : lots_(seed, kChances + static_cast<uint64_t>(layer), epoch), sharpness_(sharpness) {}

    // What the score comes to; 0 where that is surely not more than `low`.
    double operator()(double score, int64_t place, double low) const {
        const double chance = (lots_.of(place) + 0.5) * 0x1p-32;  // exp(-E), and so >= 1 - E
        if (low > 0.0) {
            const double ratio = score / low;
            double most = 1.0;  // for E
            for (int p = 0; p < sharpness_; p++) most *= ratio;
            if (1.0 - chance >= most) return 0.0;
        }
        return score * std::pow(-std::log(chance), -1.0 / sharpness_);
    }

private:
    static constexpr uint64_t kChances = uint64_t{3} << 28;  // streams beside the layers'
    Lots lots_;
    int sharpness_;
};

}  // namespace cofire
