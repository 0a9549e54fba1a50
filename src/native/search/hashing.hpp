// Pairs that are probably similar, found without looking at the others: neurons whose sketches
// point the same way get the same hash, and only pairs of equal hash are compared.
//
// A hash is made of the signs of some random projections of the sketch (Charikar, 2002), in
// several tables. Time and memory follow the number of neurons and of pairs wanted.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "search/sketch.hpp"
#include "search/top_pairs.hpp"

namespace cofire {

class HashedPairs {
public:
    // n_meetings: outputs that an input is compared with in a bucket of a table, at most.
    HashedPairs(const SearchContext& context, const Sketch& sketch, int64_t n_tables,
                int64_t n_meetings);

    // Of one layer: the best of the pairs that met, at most as many as wanted, as flat indices.
    std::vector<int64_t> run(int layer);

    // Those of the pairs that met, and of the norms; hashes take additions only.
    int64_t multiply_adds() const { return multiply_adds_; }

private:
    // The outputs by their hash.
    struct Buckets {
        std::vector<uint32_t> hash;  // ascending
        std::vector<int32_t> tile_row;
        Buckets(const std::vector<uint32_t>& hashes, const std::vector<double>& strength);
    };
    // Pairs that met, by their tile rows.
    struct Met {
        std::vector<int32_t> in, out;
    };

    const SearchContext& context_;
    const Plan& plan_;
    const SearchRequest& request_;
    const Sketch& sketch_;
    const int64_t n_tables_, n_meetings_;
    Workers& workers_;
    std::vector<std::vector<double>> strengths_;  // per stage and tile row
    std::atomic<int64_t> multiply_adds_{0};

    bool can_be_negative(int layer) const;
    std::vector<double> measure(int stage) const;
    std::vector<uint32_t> hashes(int stage, uint64_t salt, int n_bits) const;
    std::vector<uint32_t> random_hashes(int stage, uint64_t salt, int n_bits) const;
    std::vector<int32_t> neurons(int stage) const;
    void compare(int layer, const Buckets& buckets, const std::vector<uint32_t>& input_hashes,
                 uint32_t flip, uint64_t salt, std::vector<TopPairs>& tops);
    void offer(int layer, const Met& met, const std::vector<int32_t>& neuron_in,
               const std::vector<int32_t>& neuron_out, TopPairs& top);
};

}  // namespace cofire
