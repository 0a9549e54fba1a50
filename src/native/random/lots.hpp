// Random numbers that are the same whenever and in whatever order they are asked for.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace cofire {

// The finaliser of splitmix64: every bit of x stirs every bit of the result.
inline uint64_t stir(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// A random number for every place of a layer, or of what else has a stream of its own.
class Lots {
public:
    Lots(uint64_t seed, uint64_t layer, uint64_t epoch) {
        for (const uint64_t word : {seed, layer, epoch}) state_ = stir(state_ + kStep + word);
    }
    uint32_t of(int64_t place) const {
        return static_cast<uint32_t>(stir(state_ + kStep * static_cast<uint64_t>(place)) >> 32);
    }

private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
    uint64_t state_ = 0;
};

}  // namespace cofire
