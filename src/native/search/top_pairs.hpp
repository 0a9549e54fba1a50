// The best n pairs of a layer, found without holding the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/ranking.hpp"

namespace cofire {

// One thread's best. Up to twice the wanted number are held; then the worse half is removed.
class TopPairs {
public:
    // floor: shared by the threads, the rank that a pair must reach to be among the best of all.
    // repeats: a pair may be offered again.
    TopPairs(int64_t n_wanted, std::atomic<uint32_t>& floor, bool repeats = false)
        : n_wanted_(n_wanted), capacity_(capacity(n_wanted)), repeats_(repeats), floor_(&floor) {
        if (n_wanted > 0) held_.reserve(capacity_);  // no allocation while the threads run
    }

    // How many pairs are held until the first are removed.
    static int64_t capacity(int64_t n_wanted) { return 2 * n_wanted + kSpare; }

    // A pair with a smaller rank cannot be among the best any more.
    uint32_t lowest_rank() const { return floor_->load(std::memory_order_relaxed); }

    void offer(const RankedPair& pair) {
        held_.push_back(pair);
        if (static_cast<int64_t>(held_.size()) == capacity_) keep_best();
    }

    // Moves all threads' best to the first. Not while they work.
    static void gather(const std::vector<TopPairs*>& parts) {
        TopPairs& first = *parts.front();
        for (std::size_t p = 1; p < parts.size(); p++) {
            first.held_.insert(first.held_.end(), parts[p]->held_.begin(), parts[p]->held_.end());
            parts[p]->held_.clear();
        }
        first.keep_best();
        first.held_.reserve(first.capacity_);
    }

    // The best of all threads in any order, as many as wanted if as many were offered.
    static std::vector<RankedPair> best(const std::vector<TopPairs*>& parts) {
        gather(parts);
        return std::move(parts.front()->held_);
    }

private:
    static constexpr int64_t kSpare = 256;
    int64_t n_wanted_, capacity_;
    bool repeats_;
    std::atomic<uint32_t>* floor_;
    std::vector<RankedPair> held_;

    void keep_best() {
        if (repeats_) drop_repeats();
        if (n_wanted_ == 0 || static_cast<int64_t>(held_.size()) < n_wanted_) return;
        const auto last = held_.begin() + (n_wanted_ - 1);
        std::nth_element(held_.begin(), last, held_.end());
        held_.erase(last + 1, held_.end());
        const uint32_t rank = held_.back().rank();
        uint32_t floor = floor_->load(std::memory_order_relaxed);
        while (floor < rank && !floor_->compare_exchange_weak(floor, rank)) {}
    }

    void drop_repeats() {
        std::sort(held_.begin(), held_.end());
        const auto same = [](const RankedPair& a, const RankedPair& b) {
            return a.index == b.index;
        };
        held_.erase(std::unique(held_.begin(), held_.end(), same), held_.end());
    }
};

}  // namespace cofire
