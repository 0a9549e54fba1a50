// Random numbers that depend on nothing but what they are for: the same whenever and in whatever
// order they are asked for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace cofire {

// What random numbers are drawn for, each in streams of its own: from the number given here on, one
// per layer, hash table or pair of a stage and a hash table, or one alone. The numbers decide the
// bits of a training: never change them.
enum class Stream : uint64_t {
    ties = 0,  // per layer
    augmentation = uint64_t{1} << 29,
    dropout_features = augmentation + 1,
    dropout_samples = augmentation + 2,
    draws = uint64_t{3} << 28,  // per layer
    sketch_signs = uint64_t{1} << 30,
    hash_signs = uint64_t{1} << 31,     // per hash table
    bucket_starts = uint64_t{2} << 31,  // per hash table
    random_hashes = uint64_t{4} << 31,  // per stage and hash table
};

constexpr uint64_t kHashTables = uint64_t{1} << 31;  // at most, of all layers together

namespace streams {

struct Range {
    Stream first;
    uint64_t n;
};
constexpr Range kRanges[] = {
    {Stream::ties, uint64_t{1} << 29},
    {Stream::augmentation, 1},
    {Stream::dropout_features, 1},
    {Stream::dropout_samples, 1},
    {Stream::draws, uint64_t{1} << 28},
    {Stream::sketch_signs, 1},
    {Stream::hash_signs, kHashTables},
    {Stream::bucket_starts, kHashTables},
    {Stream::random_hashes, uint64_t{1} << 62},
};
constexpr bool are_apart() {
    for (std::size_t k = 1; k < std::size(kRanges); k++) {
        const uint64_t first = static_cast<uint64_t>(kRanges[k].first);
        const uint64_t before = static_cast<uint64_t>(kRanges[k - 1].first);
        if (first < before || first - before < kRanges[k - 1].n) return false;
    }
    return true;
}
static_assert(are_apart(), "two purposes would draw the same random numbers");

}  // namespace streams

// The finaliser of splitmix64: every bit of x changes every bit of the result.
inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// One stream: a random number for every index.
class CounterRandom {
public:
    CounterRandom(uint64_t seed, uint64_t stream, uint64_t epoch) {
        for (const uint64_t word : {seed, stream, epoch}) state_ = mix(state_ + kStep + word);
    }
    uint32_t at(int64_t index) const {
        return static_cast<uint32_t>(mix(state_ + kStep * static_cast<uint64_t>(index)) >> 32);
    }

private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
    uint64_t state_ = 0;
};

// What all random numbers of a call follow from.
struct RandomKey {
    uint64_t seed = 0, epoch = 0;

    CounterRandom stream(Stream purpose, uint64_t offset = 0) const {
        return {seed, static_cast<uint64_t>(purpose) + offset, epoch};
    }
};

// Rows that are walked through again and again: each pass has random numbers of its own, so that
// a row gets others in every pass. Position 0 lies `offset` rows after the beginning of the pass of
// `first`.
struct Passes {
    RandomKey first;
    int64_t offset = 0, size = 1;          // rows of a pass
    const int64_t* row_numbers = nullptr;  // that stand for the ids of rows; nullptr: the ids

    int64_t number(int64_t id) const { return row_numbers == nullptr ? id : row_numbers[id]; }

    RandomKey at(int64_t position) const {
        return {first.seed, first.epoch + static_cast<uint64_t>((offset + position) / size)};
    }
};

}  // namespace cofire
