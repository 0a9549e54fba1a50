// Which of some candidates are the best, by as few rows as it takes.
//
// All rows decide about a candidate only where it is close. Rows come in a random order, in
// rounds: after each, a candidate's score on the rows so far has a standard error (the jackknife
// over eight groups of rows), and a candidate that is clearly in or clearly out needs no more of
// them. The race ends when the expected number of wrong decisions is small enough, at the latest
// when all rows were seen, and then the scores of those still open are exact. A pair with a neuron
// that fired too rarely to tell keeps the score of the sketch, which saw it fire. Rows with rare
// features are seen first, all of them, and are not a part of the sample: a few such rows can make
// up much of a neuron's activity.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/signals.hpp"

namespace cofire {

// The candidates of one layer, and what the race finds out about them.
struct Candidates {
    int64_t n_wanted = 0;
    std::vector<int64_t> indices;  // flat, ascending
    std::vector<double> scores;    // at first those of the sketch
    std::vector<uint8_t> quarter;  // by the sketch: 0 the best, 1 the next, 2 the second half
    double expected_errors = 0.0;  // among those chosen

    // Halfway between the last one in and the first one out.
    double limit() const;
};

class Race {
public:
    // tolerance: the fraction of the wanted pairs that may be expected to be wrong. n_sure: rows
    // at the beginning that are not a sample of the others; they are seen first.
    Race(const SearchContext& context, int64_t n_sure, double tolerance);

    // Fills in the scores, per layer; returns the number of rows it took.
    int64_t run(std::vector<Candidates>& candidates);

    // Of all races so far.
    int64_t multiply_adds() const { return multiply_adds_; }

private:
    static constexpr int kGroups = kMaxGroups;

    // Sums by group of rows; behind those of the groups the sums of the rows that are not a sample.
    using Sums = std::vector<double>[kGroups + 1];
    // Of one layer: its open candidates, and the sums of their products.
    struct OpenPairs {
        std::vector<int64_t> open;  // positions among the candidates
        Sums product;
        void keep(const std::vector<int64_t>& which);
    };
    // Of one stage: sums of squares of the neurons of open candidates.
    struct Norms {
        std::vector<int32_t> slot;     // by neuron: where its sums are, or -1
        std::vector<int32_t> neurons;  // in the order of the slots
        Sums square;
    };
    // The tile rows that a round looks at.
    struct Watched {
        std::vector<std::vector<int32_t>> in, out;  // per layer, of the open candidates
        std::vector<std::vector<int32_t>> neurons;  // per stage, of the slots
        int last_stage = 0;
    };
    // What the rows so far tell of a neuron, scaled to all rows.
    struct NeuronEstimate {
        Strength all, without[kGroups];  // of all groups, and of all but one
        // The groups show a spread only where it fired about as much in most of them: a neuron
        // that a few rows excite has not been seen until those rows were.
        bool even;
    };
    struct PairEstimate {
        double score, variance;
    };

    const SearchContext& context_;
    const NetworkView& network_;
    const SearchRequest& request_;
    const int64_t n_sure_;
    const int tile_size_;
    const double tolerance_;
    Workers& workers_;
    std::unique_ptr<Plan> plan_;       // of what the candidates depend on
    std::size_t n_planned_ = 0;        // neurons wanted when it was made
    std::vector<SignalSpace> spaces_;  // per thread, for whatever part of the network
    std::vector<OpenPairs> pairs_;     // per layer
    std::vector<Norms> norms_;         // per stage
    int64_t multiply_adds_ = 0;

    int n_layers() const { return network_.n_layers(); }
    int64_t input(int layer, int64_t index) const { return index % network_.layers[layer].n_in; }
    int64_t output(int layer, int64_t index) const { return index / network_.layers[layer].n_in; }
    bool any_open() const;
    void open_all(const std::vector<Candidates>& candidates);
    void choose_slots(const std::vector<Candidates>& candidates);
    static void set_aside(Sums& sums);

    // A round.
    void see_rows(const std::vector<Candidates>& candidates, int64_t begin, int64_t end);
    void make_plan();
    Watched watch(const Plan& plan, const std::vector<Candidates>& candidates) const;
    void add(const Watched& watched, const Signals& signals, int64_t group);
    int64_t next_end(int64_t seen, double excess) const;

    // After a round.
    double scale(int64_t seen) const;
    std::vector<NeuronEstimate> estimate_neurons(const Norms& norms, int64_t seen) const;
    double sketch_error(double score) const;
    PairEstimate estimate_pair(const Sums& product, std::size_t k, const NeuronEstimate& in,
                               const NeuronEstimate& out, int64_t seen) const;
    double decide(std::vector<Candidates>& candidates, int64_t seen);
    std::vector<int64_t> undecided(Candidates& candidates, const std::vector<int64_t>& open,
                                   const std::vector<double>& error,
                                   const std::vector<uint8_t>& unknown) const;
};

}  // namespace cofire
