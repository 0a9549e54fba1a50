// Pairs that are probably alike, found without looking at the others: neurons whose sketches
// point the same way get the same hash, and only pairs of equal hash are compared.
//
// A hash is made of the signs of some random projections of the sketch (Charikar, 2002), in
// several tables. Time and memory follow the number of neurons and of places wanted.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "search/all_pairs.hpp"
#include "search/draw.hpp"
#include "search/sketch.hpp"

namespace cofire {

class HashedPairs {
public:
    // n_meetings: outputs that an input meets in a bucket of a table, at most.
    HashedPairs(const Plan& plan, Loss loss, const SearchRequest& request, const Sketch& sketch,
                int tile_size, int64_t n_tables, int64_t n_meetings, Workers& workers)
        : plan_(plan), loss_(loss), kernels_(kernels()), request_(request), sketch_(sketch),
          tile_size_(tile_size), n_tables_(n_tables), n_meetings_(n_meetings), workers_(workers) {
        for (int v = 0; v <= plan.n_layers(); v++) strengths_.push_back(measure(v));
        for (const std::vector<double>& strengths : strengths_)
            multiply_adds_ += static_cast<int64_t>(strengths.size()) * sketch.n_samples();
    }

    // Those of the pairs that met, and of the norms; hashes take additions only.
    int64_t multiply_adds() const { return multiply_adds_; }

    // Of one layer: the best of the pairs that met, at most as many as wanted.
    std::vector<int64_t> run(int layer) {
        const int64_t n_wanted = request_.n_wanted[layer];
        std::atomic<uint32_t> floor{0};
        std::vector<TopPlaces> tops;  // per thread
        for (int t = 0; t < workers_.n_threads(); t++) tops.emplace_back(n_wanted, floor, true);
        const TieBreak order(request_.ties, request_.random.stream(Stream::ties, layer),
                             plan_.sizes[layer], plan_.sizes[layer + 1]);
        // Where activations can be negative, opposite ones are alike as well.
        const bool last = layer + 1 == plan_.n_layers();
        const bool both_signs = layer == 0 || request_.metric == Metric::pearson ||
                                plan_.activation != Activation::relu ||
                                (last && loss_ == Loss::squared);
        const int n_bits = bits_for(plan_.n_live[layer + 1]);
        if (n_wanted > 0 && plan_.n_live[layer] > 0 && plan_.n_live[layer + 1] > 0)
            for (int64_t table = 0; table < n_tables_ && !workers_.stopped(); table++) {
                const uint64_t salt = static_cast<uint64_t>(layer * n_tables_ + table);
                const Buckets buckets(hashes(layer + 1, salt, n_bits), strengths_[layer + 1]);
                const std::vector<uint32_t> asked = hashes(layer, salt, n_bits);
                const uint32_t mask = (uint32_t{1} << n_bits) - 1;
                compare(layer, buckets, asked, 0, salt, order, tops);
                if (both_signs) compare(layer, buckets, asked, mask, salt, order, tops);
            }
        std::vector<TopPlaces*> parts;
        for (TopPlaces& top : tops) parts.push_back(&top);
        std::vector<int64_t> places;
        for (const Candidate& c : TopPlaces::best(parts)) places.push_back(order.place_of(c));
        std::sort(places.begin(), places.end());
        return places;
    }

private:
    static constexpr int64_t kShare = 4096;  // neurons of a task

    const Plan& plan_;
    const Loss loss_;
    const Kernels& kernels_;
    const SearchRequest& request_;
    const Sketch& sketch_;
    const int tile_size_;
    const int64_t n_tables_, n_meetings_;
    Workers& workers_;
    std::vector<std::vector<double>> strengths_;  // per level and row
    std::atomic<int64_t> multiply_adds_{0};

    // The outputs by their hash.
    struct Buckets {
        std::vector<uint32_t> hash;  // ascending
        std::vector<int32_t> row;
        Buckets(const std::vector<uint32_t>& hashes, const std::vector<double>& strength) {
            for (int32_t j = 0; j < static_cast<int32_t>(hashes.size()); j++)
                if (strength[j] > 0.0) row.push_back(j);
            std::sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
                return hashes[a] != hashes[b] ? hashes[a] < hashes[b] : a < b;
            });
            for (int32_t j : row) hash.push_back(hashes[j]);
        }
    };

    // About sixteen outputs in a bucket.
    static int bits_for(int64_t n) {
        int bits = 1;
        while (bits < 30 && (int64_t{16} << bits) < n) bits++;
        return bits;
    }

    std::vector<double> measure(int level) const {
        std::vector<double> squares(plan_.n_live[level], 0.0);
        workers_.share(divide_up(plan_.n_live[level], kShare), [&](int64_t task, int) {
            for (int64_t j = task * kShare; j < std::min((task + 1) * kShare, plan_.n_live[level]);
                 j++)
                for (int64_t t = 0; t < sketch_.n_tiles(); t++) {
                    const float* row = sketch_.rows(t, level) + j * tile_size_;
                    for (int s = 0; s < tile_size_; s++)
                        squares[j] += static_cast<double>(row[s]) * row[s];
                }
        });
        return squares;
    }

    // The columns with random signs, then a Walsh-Hadamard transform: its numbers are random
    // projections, and the signs of the first ones the hash. Who looks for what is not alike
    // meets anybody.
    std::vector<uint32_t> hashes(int level, uint64_t salt, int n_bits) const {
        if (request_.metric == Metric::lowest_cosine) return random_hashes(level, salt, n_bits);
        const int64_t n_columns = sketch_.n_samples();
        int64_t size = 1;
        while (size < n_columns || size < n_bits) size *= 2;
        const CounterRandom numbers = request_.random.stream(Stream::hash_signs, salt);
        std::vector<float> sign(size, 0.0f);
        for (int64_t c = 0; c < n_columns; c++) sign[c] = numbers.at(c) & 1 ? 1.0f : -1.0f;
        std::vector<uint32_t> result(plan_.n_live[level]);
        workers_.share(divide_up(plan_.n_live[level], kShare), [&](int64_t task, int) {
            std::vector<float> x(size);
            for (int64_t j = task * kShare; j < std::min((task + 1) * kShare, plan_.n_live[level]);
                 j++) {
                std::fill(x.begin(), x.end(), 0.0f);
                for (int64_t t = 0; t < sketch_.n_tiles(); t++) {
                    const float* row = sketch_.rows(t, level) + j * tile_size_;
                    for (int s = 0; s < tile_size_; s++)
                        x[t * tile_size_ + s] = row[s] * sign[t * tile_size_ + s];
                }
                for (int64_t half = 1; half < size; half *= 2)
                    for (int64_t a = 0; a < size; a += 2 * half)
                        for (int64_t b = a; b < a + half; b++) {
                            const float p = x[b], q = x[b + half];
                            x[b] = p + q;
                            x[b + half] = p - q;
                        }
                uint32_t hash = 0;
                for (int bit = 0; bit < n_bits; bit++) hash |= uint32_t{x[bit] > 0.0f} << bit;
                result[j] = hash;
            }
        });
        return result;
    }

    std::vector<uint32_t> random_hashes(int level, uint64_t salt, int n_bits) const {
        const CounterRandom numbers =
            request_.random.stream(Stream::random_hashes, kHashTables * level + salt);
        std::vector<uint32_t> result(plan_.n_live[level]);
        for (std::size_t j = 0; j < result.size(); j++)
            result[j] = numbers.at(static_cast<int64_t>(j)) & ((uint32_t{1} << n_bits) - 1);
        return result;
    }

    // Each input meets some outputs of its hash, flipped where opposites are looked for.
    void compare(int layer, const Buckets& buckets, const std::vector<uint32_t>& asked,
                 uint32_t flip, uint64_t salt, const TieBreak& order,
                 std::vector<TopPlaces>& tops) {
        const std::vector<int32_t> neuron_in = neurons(layer), neuron_out = neurons(layer + 1);
        const CounterRandom start = request_.random.stream(Stream::bucket_starts, salt);
        const int64_t n_in = plan_.n_live[layer];
        workers_.share(divide_up(n_in, kShare), [&](int64_t task, int thread) {
            std::vector<int32_t> in_row, out_row;
            for (int64_t i = task * kShare; i < std::min((task + 1) * kShare, n_in); i++) {
                if (strengths_[layer][i] == 0.0) continue;
                const auto [first, last] =
                    std::equal_range(buckets.hash.begin(), buckets.hash.end(), asked[i] ^ flip);
                const int64_t begin = first - buckets.hash.begin(), n = last - first;
                const int64_t from = n > n_meetings_ ? start.at(i) % n : 0;
                for (int64_t k = 0; k < std::min(n, n_meetings_); k++) {
                    in_row.push_back(static_cast<int32_t>(i));
                    out_row.push_back(buckets.row[begin + (from + k) % n]);
                }
            }
            offer(layer, in_row, out_row, neuron_in, neuron_out, order, tops[thread]);
        });
    }

    void offer(int layer, const std::vector<int32_t>& in_row, const std::vector<int32_t>& out_row,
               const std::vector<int32_t>& neuron_in, const std::vector<int32_t>& neuron_out,
               const TieBreak& order, TopPlaces& top) {
        std::vector<double> products(in_row.size(), 0.0);
        multiply_adds_ += static_cast<int64_t>(in_row.size()) * sketch_.n_samples();
        for (int64_t t = 0; t < sketch_.n_tiles(); t++)
            kernels_.pair_sums(tile_size_ / 8, static_cast<int64_t>(in_row.size()),
                               sketch_.rows(t, layer), in_row.data(), sketch_.rows(t, layer + 1),
                               out_row.data(), nullptr, products.data());
        const Places& kept = request_.kept[layer];
        const Draw draw(request_.sharpness, request_.random, layer);
        const double above = gate_of(request_, layer, sketch_.n_samples());
        for (std::size_t k = 0; k < in_row.size(); k++) {
            const double score =
                score_of(request_.metric, products[k], Strength(strengths_[layer][in_row[k]]),
                         Strength(strengths_[layer + 1][out_row[k]]));
            if (score <= above) continue;
            const int64_t place =
                neuron_out[out_row[k]] * plan_.sizes[layer] + neuron_in[in_row[k]];
            const uint32_t rank = request_.sharpness > 0 ? drawn_rank_of(draw(score, place, 0.0))
                                                         : rank_of(request_.metric, score);
            if (rank < top.lowest_rank()) continue;
            if (!std::binary_search(kept.begin, kept.end, place))
                top.offer(order.candidate(rank, place));
        }
    }

    // Neuron by row of a tile.
    std::vector<int32_t> neurons(int level) const {
        std::vector<int32_t> neuron(plan_.n_live[level]);
        for (int32_t j = 0; j < static_cast<int32_t>(plan_.live_at[level].size()); j++)
            if (plan_.live_at[level][j] >= 0) neuron[plan_.live_at[level][j]] = j;
        return neuron;
    }
};

}  // namespace cofire
