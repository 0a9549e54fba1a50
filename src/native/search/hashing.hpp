// Pairs that are probably similar, found without looking at the others: neurons whose sketches
// point the same way get the same hash, and only pairs of equal hash are compared.
//
// A hash is made of the signs of some random projections of the sketch (Charikar, 2002), in
// several tables. Time and memory follow the number of neurons and of pairs wanted.
#pragma once

#include <algorithm>
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
    // The neurons of a stage that fire, by their hash.
    struct Buckets {
        std::vector<int32_t> tile_row;  // in the order of the hashes
        std::vector<uint32_t> hash;     // of each
        std::vector<int64_t> start;     // per hash: where its neurons begin; and the end
        Buckets(const std::vector<uint32_t>& hashes, const std::vector<double>& strength,
                int n_bits);
    };
    // The connections of a layer that are not candidates, by output neuron: to look one up touches
    // the few of its neuron, not places all over memory.
    class Kept {
    public:
        Kept(const FlatIndices& indices, int64_t n_in, int64_t n_out);
        bool has(int64_t output, int64_t index) const {
            return std::binary_search(indices_.begin + start_[output],
                                      indices_.begin + start_[output + 1], index);
        }

    private:
        FlatIndices indices_;
        std::vector<int64_t> start_;
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
    void compare(int layer, const Buckets& inputs, const Buckets& outputs, const Kept& kept,
                 uint32_t flip, uint64_t salt, std::vector<TopPairs>& tops);
    void offer(int layer, const Met& met, const Kept& kept, const std::vector<int32_t>& neuron_in,
               const std::vector<int32_t>& neuron_out, TopPairs& top);
};

}  // namespace cofire
