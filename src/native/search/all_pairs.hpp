// The best places of each layer by the signals of a source: all pairs, none held.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "search/draw.hpp"
#include "search/levels.hpp"
#include "search/search.hpp"
#include "search/signals.hpp"
#include "search/top_places.hpp"
#include "search/windows.hpp"
#include "threads/workers.hpp"

namespace cofire {

// Steps through a row of places in ascending order, beside the kept ones.
class KeptWalk {
public:
    KeptWalk(const Places& kept, int64_t first_place)
        : next_(std::lower_bound(kept.begin, kept.end, first_place)), end_(kept.end) {}
    bool has(int64_t place) {
        while (next_ != end_ && *next_ < place) next_++;
        return next_ != end_ && *next_ == place;
    }

private:
    const int64_t *next_, *end_;
};

class AllPairs {
public:
    // n_wanted: per layer, 0 where nothing is. exact_sums: of few samples, in double.
    AllPairs(const Plan& plan, const SearchRequest& request, const SignalSource& source,
             const std::vector<int64_t>& n_wanted, int tile_size, bool exact_sums, Workers& workers)
        : plan_(plan), kernels_(kernels()), request_(request), source_(source), n_wanted_(n_wanted),
          tile_size_(tile_size), workers_(workers), exact_(exact_sums),
          at_once_(source.n_samples() <= kChunk), floors_(plan.n_layers()) {
        for (int l = 0; l < plan_.n_layers(); l++) {
            orders_.emplace_back(request.ties, request.random.stream(Stream::ties, l),
                                 plan_.sizes[l], plan_.sizes[l + 1]);
            draws_.emplace_back(request.sharpness, request.random, l);
            above_.push_back(gate_of(request, l, source.n_samples()));
        }
        for (int t = 0; t < workers.n_threads(); t++) {
            desks_.emplace_back(source.make_space());
            for (int l = 0; l < plan_.n_layers(); l++)
                desks_.back().tops.emplace_back(n_wanted[l], floors_[l]);
        }
    }

    // Per layer the best candidates in any order.
    std::vector<std::vector<Candidate>> run() {
        measure_strengths();
        std::vector<Shape> shapes;
        for (int l = 0; l < plan_.n_layers(); l++)
            shapes.push_back({inputs(l).n_firing(), outputs(l).n_firing()});
        const std::vector<Pass> passes = cut_into_passes(shapes, n_wanted_, kernels_.panels);
        make_room(passes);
        for (const Pass& pass : passes) {
            fill_and_rank(pass);
            int64_t n_pairs = 0;
            for (const Window& w : pass.windows)
                n_pairs += (w.outputs.end - w.outputs.begin) * (w.inputs.end - w.inputs.begin);
            multiply_adds_ += source_.n_samples() * (source_.price(pass.last_level) + n_pairs);
        }
        for (int l = 0; l < plan_.n_layers(); l++) rank_silent_pairs(l);
        std::vector<std::vector<Candidate>> best(plan_.n_layers());
        workers_.share(plan_.n_layers(),
                       [&](int64_t l, int) { best[l] = TopPlaces::best(tops(l)); });
        return best;
    }

    // Per level the number of neurons that have a signal.
    std::vector<int64_t> n_firing() const {
        std::vector<int64_t> n;
        for (const Level& level : activations_) n.push_back(level.n_firing());
        return n;
    }

    int64_t multiply_adds() const { return multiply_adds_; }

private:
    // Rows whose products are summed in float32 before they join the float64 sums. A
    // panel of so many columns still lies in the first cache.
    static constexpr int64_t kChunk = 768;
    static constexpr int64_t kOutputsPerTask = 48;
    static constexpr double kLowestScore = -std::numeric_limits<double>::infinity();

    // What a thread works with.
    struct Desk {
        SignalSpace space;
        std::vector<TopPlaces> tops;  // per layer
        explicit Desk(SignalSpace&& own) : space(std::move(own)) {}
    };
    struct Task {
        const Window* window;
        int64_t first_panel, n_panels;  // of its outputs
    };

    const Plan& plan_;
    const Kernels& kernels_;
    const SearchRequest& request_;
    const SignalSource& source_;
    const std::vector<int64_t> n_wanted_;
    const int tile_size_;
    Workers& workers_;
    const bool exact_, at_once_;

    std::vector<std::atomic<uint32_t>> floors_;  // per layer: what the best have reached
    std::vector<Desk> desks_;                    // per thread
    std::vector<Level> activations_, deltas_;    // per level
    std::vector<TieBreak> orders_;               // per layer
    std::vector<Draw> draws_;                    // per layer
    std::vector<double> above_;                  // per layer: what a score must exceed
    int64_t capacity_ = 0;                       // columns of a panel
    Floats panels_;
    std::vector<double> column_weight_;  // for exact sums
    std::vector<double> sums_;           // of a pass, or of a task per thread
    int64_t multiply_adds_ = 0;

    const Level& inputs(int layer) const { return activations_[layer]; }
    const Level& outputs(int layer) const {
        return (request_.metric == Metric::gradient ? deltas_ : activations_)[layer + 1];
    }

    // ---- who fires, and how strongly ----------------------------------------------------------

    // Tiles are dealt into groups by their number, and the groups summed in their order.
    void measure_strengths() {
        constexpr int64_t kTilesAtOnce = 4;  // of a group, before the interrupt is looked at
        const bool gradient = request_.metric == Metric::gradient;
        std::vector<Squares> activations(kMaxGroups, Squares(plan_)), deltas;
        if (gradient) deltas = activations;
        const int64_t step = kTilesAtOnce * kMaxGroups * tile_size_;
        int64_t first = -step;
        workers_.phases(
            [&](int64_t group, int thread) {
                for (int64_t t = 0; t < kTilesAtOnce; t++) {
                    const int64_t row = first + (t * kMaxGroups + group) * tile_size_;
                    if (row >= source_.n_samples()) return;
                    const auto add = [&](const Signals& signals) {
                        add_squares(signals, signals.inputs, 0, activations[group]);
                        if (gradient) add_squares(signals, signals.outputs, 1, deltas[group]);
                    };
                    source_.with_tile(row, plan_.n_layers(), desks_[thread].space, add);
                }
            },
            [&]() -> uint64_t {
                first += step;
                return first < source_.n_samples() ? kMaxGroups : 0;
            });
        activations_ = levels_of(plan_, activations);
        if (gradient) deltas_ = levels_of(plan_, deltas);
        int64_t n_neurons = 0;
        for (int v = 0; v <= plan_.n_layers(); v++)
            n_neurons += plan_.n_live[v] * (gradient && v > 0 ? 2 : 1);
        multiply_adds_ = source_.n_samples() * (source_.price(plan_.n_layers()) + n_neurons);
    }

    void add_squares(const Signals& signals, const std::vector<Floats>& rows, int first_level,
                     Squares& sums) const {
        for (int v = first_level; v <= plan_.n_layers(); v++)
            kernels_.add_squares(signals.n8, plan_.n_live[v], rows[v].data(), signals.weight,
                                 sums.level[v].data());
    }

    // ---- pairs that both fire -----------------------------------------------------------------

    void make_room(const std::vector<Pass>& passes) {
        int64_t n_sums = 0, n_neurons = 0;
        for (const Pass& pass : passes) {
            n_sums = std::max(n_sums, pass.n_sums);
            n_neurons = std::max(n_neurons, pass.n_neurons);
        }
        capacity_ = std::min(kChunk, divide_up(source_.n_samples(), 16) * 16);
        column_weight_.assign(capacity_, 0.0);
        panels_.assign(n_neurons * capacity_, 0.0f);
        if (at_once_) n_sums = workers_.n_threads() * kOutputsPerTask * kMaxSide;
        sums_.assign(n_sums, 0.0);
    }

    // Chunk by chunk of the rows: activations into panels, then their products; at last ranks.
    // Where there is one chunk, ranks follow products at once, and few sums are held.
    void fill_and_rank(const Pass& pass) {
        enum class Phase { start, pack, multiply, rank } phase = Phase::start;
        const std::vector<Task> tasks = cut_into_tasks(pass);
        int64_t first = 0, n_columns = 0;
        workers_.phases(
            [&](int64_t i, int thread) {
                if (phase == Phase::pack) return pack_tile(pass, first, i * tile_size_, thread);
                double* sums = sums_of(tasks[i], thread);
                if (phase == Phase::multiply) multiply(tasks[i], n_columns, first > 0, sums);
                if (phase == Phase::rank || at_once_) rank_pairs(tasks[i], sums, thread);
            },
            [&]() -> uint64_t {
                if (phase == Phase::rank || (at_once_ && phase == Phase::multiply)) return 0;
                if (phase == Phase::pack) {
                    phase = Phase::multiply;
                    return tasks.size();
                }
                if (phase == Phase::multiply) first += n_columns;
                n_columns = std::min(kChunk, source_.n_samples() - first);
                phase = n_columns > 0 ? Phase::pack : Phase::rank;
                return n_columns > 0 ? divide_up(n_columns, tile_size_) : tasks.size();
            });
    }

    std::vector<Task> cut_into_tasks(const Pass& pass) const {
        std::vector<Task> tasks;
        for (const Window& w : pass.windows) {
            const int64_t n = kOutputsPerTask / w.outputs.panel_size;
            for (int64_t p = 0; p < w.outputs.n_panels(); p += n)
                tasks.push_back({&w, p, std::min(n, w.outputs.n_panels() - p)});
        }
        return tasks;
    }

    void pack_tile(const Pass& pass, int64_t first, int64_t column, int thread) {
        const auto use = [&](const Signals& signals) {
            const auto pack = [&](const Side& side, const Level& level, const Floats& rows,
                                  const float* weight) {
                kernels_.pack(signals.n8, rows.data(), side.end - side.begin,
                              level.tile_row.data() + side.begin, weight, side.panel_size,
                              capacity_, column, panels_.data() + side.panels_at * capacity_);
            };
            if (exact_) std::copy_n(signals.weight, signals.n8 * 8, column_weight_.data() + column);
            for (const Window& w : pass.windows) {
                pack(w.inputs, inputs(w.layer), signals.inputs[w.layer], nullptr);
                pack(w.outputs, outputs(w.layer), signals.outputs[w.layer + 1],
                     exact_ ? nullptr : signals.weight);
            }
        };
        source_.with_tile(first + column, pass.last_level, desks_[thread].space, use);
    }

    double* sums_of(const Task& task, int thread) {
        const Window& w = *task.window;
        if (at_once_) return sums_.data() + thread * kOutputsPerTask * kMaxSide;
        return sums_.data() + w.sums_at +
               task.first_panel * w.outputs.panel_size * w.inputs.n_padded();
    }

    void multiply(const Task& task, int64_t n_columns, bool accumulate, double* sums) {
        const Window& w = *task.window;
        const int64_t first_output = task.first_panel * w.outputs.panel_size;
        const float* outputs = panels_.data() + (w.outputs.panels_at + first_output) * capacity_;
        const float* inputs = panels_.data() + w.inputs.panels_at * capacity_;
        if (exact_)
            kernels_.products_exact(n_columns, capacity_, task.n_panels, outputs,
                                    w.inputs.n_panels(), inputs, column_weight_.data(), sums);
        else
            kernels_.products(n_columns, capacity_, task.n_panels, outputs, w.inputs.n_panels(),
                              inputs, accumulate, sums);
    }

    void rank_pairs(const Task& task, const double* sums, int thread) {
        const Window& w = *task.window;
        const int64_t first = w.outputs.begin + task.first_panel * w.outputs.panel_size;
        const int64_t last = std::min(first + task.n_panels * w.outputs.panel_size, w.outputs.end);
        const int64_t n_out = w.outputs.panel_size;
        for (int64_t o = first; o < last; o++)
            rank_row(w, o, sums + (o - first) / n_out * n_out * w.inputs.n_padded(), thread);
    }

    // sums: those of the panel that o is in.
    void rank_row(const Window& w, int64_t o, const double* sums, int thread) {
        const int n_out = w.outputs.panel_size, n_in = w.inputs.panel_size;
        sums += (o - w.outputs.begin) % n_out * n_in;
        KeptWalk kept = kept_from(w.layer, o, w.inputs.begin);
        for (int64_t i = w.inputs.begin; i < w.inputs.end; i += n_in, sums += n_out * n_in)
            rank_run(w.layer, o, i, std::min(i + n_in, w.inputs.end), sums, kept, thread);
    }

    // ---- pairs with a silent neuron -----------------------------------------------------------

    // Their products are 0. They are looked at only where too few others were found.
    void rank_silent_pairs(int layer) {
        constexpr int64_t kOutputs = 64;
        if (n_wanted_[layer] == 0 || above_[layer] >= 0.0) return;
        TopPlaces::gather(tops(layer));
        if (floors_[layer] > highest_silent_rank(request_.metric)) return;
        const Level &in = inputs(layer), &out = outputs(layer);
        workers_.share(divide_up(out.n_neurons(), kOutputs), [&](int64_t task, int thread) {
            const int64_t end = std::min((task + 1) * kOutputs, out.n_neurons());
            for (int64_t o = task * kOutputs; o < end; o++) {
                if (o >= out.n_firing()) rank_silent_run(layer, o, 0, in.n_firing(), thread);
                rank_silent_run(layer, o, in.n_firing(), in.n_neurons(), thread);
            }
        });
    }

    void rank_silent_run(int layer, int64_t o, int64_t begin, int64_t end, int thread) {
        if (begin == end) return;
        KeptWalk kept = kept_from(layer, o, begin);
        rank_run(layer, o, begin, end, nullptr, kept, thread);
    }

    // ---- candidates ---------------------------------------------------------------------------

    int64_t place_of(int layer, int64_t o, int64_t i) const {
        return outputs(layer).neuron[o] * plan_.sizes[layer] + inputs(layer).neuron[i];
    }

    KeptWalk kept_from(int layer, int64_t o, int64_t i) const {
        return KeptWalk(request_.kept[layer], place_of(layer, o, i));
    }

    // The pairs of one output with some inputs in ascending order; no products: they are 0.
    void rank_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                  KeptWalk& kept, int thread) {
        if (request_.sharpness > 0) return draw_run(layer, o, begin, end, products, kept, thread);
        const auto run = [&](auto metric) {
            rank_run_by<decltype(metric)::value>(layer, o, begin, end, products, kept, thread);
        };
        switch (request_.metric) {
            case Metric::cosine:
            case Metric::pearson: return run(By<Metric::cosine>{});
            case Metric::lowest_cosine: return run(By<Metric::lowest_cosine>{});
            case Metric::hebb: return run(By<Metric::hebb>{});
            case Metric::euclidean: return run(By<Metric::euclidean>{});
            case Metric::gradient: return run(By<Metric::gradient>{});
        }
    }

    template <Metric M> using By = std::integral_constant<Metric, M>;

    template <Metric metric>
    void rank_run_by(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                     KeptWalk& kept, int thread) {
        const Strength* in = inputs(layer).strength.data();
        const Strength out = outputs(layer).strength[o];
        TopPlaces& top = desks_[thread].tops[layer];
        const uint32_t lowest = top.lowest_rank();
        // Up to here scores have a lower rank.
        const double low =
            std::max(above_[layer], lowest > 0 ? score_of_rank(metric, lowest - 1) : kLowestScore);
        for (int64_t i = begin; i < end; i++) {
            const double product = products == nullptr ? 0.0 : products[i - begin];
            const double score = score_of(metric, product, in[i], out);
            if (score <= low) continue;
            const uint32_t rank = rank_of(metric, score);
            if (rank < lowest) continue;
            const int64_t place = place_of(layer, o, i);
            if (!kept.has(place)) top.offer(orders_[layer].candidate(rank, place));
        }
    }

    void draw_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                  KeptWalk& kept, int thread) {
        const Strength* in = inputs(layer).strength.data();
        const Strength out = outputs(layer).strength[o];
        TopPlaces& top = desks_[thread].tops[layer];
        const uint32_t lowest = top.lowest_rank();
        const double low = lowest > 0 ? drawn_score_of_rank(lowest - 1) : kLowestScore;
        for (int64_t i = begin; i < end; i++) {
            const double product = products == nullptr ? 0.0 : products[i - begin];
            const double score = score_of(request_.metric, product, in[i], out);
            if (score <= above_[layer]) continue;
            const int64_t place = place_of(layer, o, i);
            const double drawn = draws_[layer](score, place, low);
            if (drawn <= low) continue;
            const uint32_t rank = drawn_rank_of(drawn);
            if (rank >= lowest && !kept.has(place))
                top.offer(orders_[layer].candidate(rank, place));
        }
    }

    std::vector<TopPlaces*> tops(int64_t layer) {
        std::vector<TopPlaces*> parts;
        for (Desk& desk : desks_) parts.push_back(&desk.tops[layer]);
        return parts;
    }
};

}  // namespace cofire
