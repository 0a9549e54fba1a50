// The best pairs of each layer by the signals of a source, among all pairs, without holding them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "search/signals.hpp"
#include "search/top_pairs.hpp"
#include "search/windows.hpp"

namespace cofire {

// The neurons of a stage: first those with a signal for some row, then the inactive ones.
struct StageNeurons {
    std::vector<int32_t> neuron;    // ascending in both parts
    std::vector<int32_t> tile_row;  // of those that have a signal
    std::vector<Strength> strength;
    int64_t n_firing() const { return static_cast<int64_t>(tile_row.size()); }
    int64_t n_neurons() const { return static_cast<int64_t>(neuron.size()); }
};

// Tells for ascending flat indices which of them are kept.
class KeptCursor {
public:
    KeptCursor(const FlatIndices& kept, int64_t first_index)
        : next_(std::lower_bound(kept.begin, kept.end, first_index)), end_(kept.end) {}
    bool has(int64_t index) {
        while (next_ != end_ && *next_ < index) next_++;
        return next_ != end_ && *next_ == index;
    }

private:
    const int64_t *next_, *end_;
};

class AllPairs {
public:
    // n_wanted: per layer, 0 where none are. exact_sums: of few samples, in double.
    AllPairs(const SearchContext& context, const SignalSource& source,
             const std::vector<int64_t>& n_wanted, bool exact_sums);

    // Per layer the best pairs in any order.
    std::vector<std::vector<RankedPair>> run();

    // Per stage the number of neurons that have a signal.
    std::vector<int64_t> n_firing() const;
    int64_t multiply_adds() const { return multiply_adds_; }

private:
    // What a thread works with.
    struct ThreadState {
        SignalSpace space;
        std::vector<TopPairs> tops;  // per layer
    };
    struct Task {
        const Window* window;
        int64_t first_panel, n_panels;  // of its outputs
    };
    // Sums of squares of each neuron's signal, per stage and tile row.
    using Squares = std::vector<std::vector<double>>;

    const Plan& plan_;
    const Kernels& kernels_;
    const SearchRequest& request_;
    const SignalSource& source_;
    const std::vector<int64_t> n_wanted_;
    const int tile_size_;
    Workers& workers_;
    const bool exact_, at_once_;

    std::vector<std::atomic<uint32_t>> floors_;       // per layer: the rank to reach
    std::vector<ThreadState> threads_;                // per thread
    std::vector<StageNeurons> activations_, deltas_;  // per stage
    std::vector<TieBreak> tie_breaks_;                // per layer
    std::vector<Draw> draws_;                         // per layer
    std::vector<double> gates_;                       // per layer: what a score must exceed
    int64_t capacity_ = 0;                            // columns of a panel
    Floats panels_;
    std::vector<double> column_weight_;  // for exact sums
    std::vector<double> sums_;           // of a pass, or of a task per thread
    int64_t multiply_adds_ = 0;

    const StageNeurons& inputs(int layer) const { return activations_[layer]; }
    const StageNeurons& outputs(int layer) const {
        return (request_.metric == Metric::gradient ? deltas_ : activations_)[layer + 1];
    }
    int64_t flat_index(int layer, int64_t o, int64_t i) const {
        return outputs(layer).neuron[o] * plan_.sizes[layer] + inputs(layer).neuron[i];
    }
    std::vector<TopPairs*> tops(int64_t layer);

    // The neurons that fire, and how strongly.
    void measure_strengths();
    void add_squares(const Signals& signals, const std::vector<Floats>& stages, int first_stage,
                     Squares& sums) const;
    std::vector<StageNeurons> stage_neurons(std::vector<Squares>& groups) const;

    // Pairs of two neurons that fire, of few rows: by estimates (estimates.cpp).
    struct Estimated;
    bool can_estimate() const;
    void rank_by_estimates();
    void rank_estimated(const Estimated& layer, int64_t first_output, int64_t first_input,
                        int thread);

    // Pairs of two neurons that fire, by products of all of them.
    void rank_by_products();
    void allocate(const std::vector<Pass>& passes);
    void fill_and_rank(const Pass& pass);
    std::vector<Task> cut_into_tasks(const Pass& pass) const;
    void pack_tile(const Pass& pass, int64_t first, int64_t column, int thread);
    double* sums_of(const Task& task, int thread);
    void multiply(const Task& task, int64_t n_columns, bool accumulate, double* sums);
    void rank_pairs(const Task& task, const double* sums, int thread);
    void rank_output(const Window& w, int64_t o, const double* sums, int thread);

    // Pairs with an inactive neuron.
    void rank_inactive_pairs(int layer);
    void rank_inactive_run(int layer, int64_t o, int64_t begin, int64_t end, int thread);

    // The pairs of one output with some inputs in ascending order; no products: they are 0.
    void rank_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                  KeptCursor& kept, int thread);
    template <Metric metric>
    void rank_run_by(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                     KeptCursor& kept, int thread);
    void draw_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                  KeptCursor& kept, int thread);
};

}  // namespace cofire
