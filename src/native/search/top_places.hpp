// The best n places of a layer, found without remembering the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "random/counter_random.hpp"
#include "search/search.hpp"

namespace cofire {

// Higher ranks first; among equals the larger random number, then the smaller place: a strict
// order, so the best n are one set, whoever found them and when.
struct Candidate {
    uint64_t key;
    int64_t place;
    Candidate(uint32_t rank, uint32_t tie, int64_t at)
        : key(uint64_t{rank} << 32 | tie), place(at) {}
    bool operator<(const Candidate& other) const {  // comes before
        return key != other.key ? key > other.key : place < other.place;
    }
};

// Makes candidates of one layer. Among equals the larger random number comes first, or in the order
// of the index the smaller place, counted input by input.
class TieBreak {
public:
    TieBreak(Ties ties, const CounterRandom& numbers, int64_t n_in, int64_t n_out)
        : ties_(ties), numbers_(numbers), n_in_(n_in), n_out_(n_out) {}

    Candidate candidate(uint32_t rank, int64_t place) const {
        if (ties_ == Ties::random) return {rank, numbers_.at(place), place};
        return {rank, 0, place % n_in_ * n_out_ + place / n_in_};
    }
    int64_t place_of(const Candidate& c) const {
        if (ties_ == Ties::random) return c.place;
        return c.place % n_out_ * n_in_ + c.place / n_out_;
    }

private:
    Ties ties_;
    CounterRandom numbers_;
    int64_t n_in_, n_out_;
};

// One thread's best. Up to twice the wanted number are held; then the worse half goes.
class TopPlaces {
public:
    // floor: shared by the threads, what a candidate must reach to be among the best of all.
    // repeats: a candidate may be offered again.
    TopPlaces(int64_t n_wanted, std::atomic<uint32_t>& floor, bool repeats = false)
        : n_wanted_(n_wanted), room_(2 * n_wanted + kSpare), repeats_(repeats), floor_(&floor) {
        if (n_wanted > 0) held_.reserve(room_);  // no allocation while the threads run
    }

    // A candidate with a smaller rank cannot be among the best any more.
    uint32_t lowest_rank() const { return floor_->load(std::memory_order_relaxed); }

    void offer(const Candidate& c) {
        held_.push_back(c);
        if (static_cast<int64_t>(held_.size()) == room_) keep_best();
    }

    // Gives all threads' best to the first. Not while they work.
    static void gather(const std::vector<TopPlaces*>& parts) {
        TopPlaces& first = *parts.front();
        for (std::size_t p = 1; p < parts.size(); p++) {
            first.held_.insert(first.held_.end(), parts[p]->held_.begin(), parts[p]->held_.end());
            parts[p]->held_.clear();
        }
        first.keep_best();
        first.held_.reserve(first.room_);
    }

    // The best of all threads in any order, as many as wanted if as many were offered.
    static std::vector<Candidate> best(const std::vector<TopPlaces*>& parts) {
        gather(parts);
        return std::move(parts.front()->held_);
    }

private:
    static constexpr int64_t kSpare = 256;
    int64_t n_wanted_, room_;
    bool repeats_;
    std::atomic<uint32_t>* floor_;
    std::vector<Candidate> held_;

    void keep_best() {
        if (repeats_) drop_repeats();
        if (n_wanted_ == 0 || static_cast<int64_t>(held_.size()) < n_wanted_) return;
        const auto last = held_.begin() + (n_wanted_ - 1);
        std::nth_element(held_.begin(), last, held_.end());
        held_.erase(last + 1, held_.end());
        const uint32_t rank = static_cast<uint32_t>(held_.back().key >> 32);
        uint32_t floor = floor_->load(std::memory_order_relaxed);
        while (floor < rank && !floor_->compare_exchange_weak(floor, rank)) {}
    }

    void drop_repeats() {
        std::sort(held_.begin(), held_.end());
        const auto same = [](const Candidate& a, const Candidate& b) { return a.place == b.place; };
        held_.erase(std::unique(held_.begin(), held_.end(), same), held_.end());
    }
};

}  // namespace cofire
