#include "search.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "crew.hpp"
#include "epoch.hpp"
#include "interrupt_poll.hpp"
#include "levels.hpp"
#include "ranking.hpp"
#include "signals.hpp"
#include "top_places.hpp"
#include "windows.hpp"

namespace cofire {
namespace {

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

class Search {
public:
    Search(const std::vector<LayerView>& layers, Activation activation, Loss loss, const Rows& rows,
           const SearchRequest& request, int n_threads, const std::function<bool()>& interrupted)
        : plan_(layers, activation, Purpose::every_unit), kernels_(kernels()), request_(request),
          tile_size_(Tiling(2 * kMaxTile, plan_.widest()).tile_size), poll_(interrupted, stop_),
          reader_(plan_, kernels_, loss, rows, request, tile_size_),
          few_rows_(request.n_rows <= kFewRows) {
        const int64_t n_tasks = std::max(divide_up(std::min(kChunk, request.n_rows), tile_size_),
                                         divide_up(plan_.widest(), kOutputsPerTask));
        n_threads_ = static_cast<int>(std::clamp<int64_t>(n_threads, 1, n_tasks));
        for (int t = 0; t < n_threads_; t++) desks_.emplace_back(plan_, tile_size_, request);
        for (int l = 0; l < plan_.n_layers(); l++) {
            lots_.emplace_back(request.seed, l, request.epoch);
            tops_.push_back(std::make_unique<TopPlaces>(request.n_wanted[l]));
        }
    }

    SearchResult run() {
        measure_strengths();
        SearchResult result;
        for (const Level& level : activations_) result.n_firing.push_back(level.n_firing());
        std::vector<Shape> shapes;
        for (int l = 0; l < plan_.n_layers(); l++)
            shapes.push_back({inputs(l).n_firing(), outputs(l).n_firing()});
        const std::vector<Pass> passes =
            cut_into_passes(shapes, request_.n_wanted, kernels_.panels);
        make_room(passes);
        for (const Pass& pass : passes) fill_and_rank(pass);
        for (int l = 0; l < plan_.n_layers(); l++) rank_silent_pairs(l);
        for (int l = 0; l < plan_.n_layers(); l++) result.places.push_back(taken_places(l));
        result.interrupted = stop_;
        return result;
    }

private:
    // Rows whose products are summed in float32 before they join the float64 sums. A
    // panel of so many columns still lies in the first cache.
    static constexpr int64_t kChunk = 768;
    // So few that their sums are made in double (products_exact in products.hpp).
    static constexpr int64_t kFewRows = 256;
    static constexpr int64_t kOutputsPerTask = 48;
    static constexpr std::size_t kOffer = 4096;

    // What a thread works with.
    struct Desk {
        SignalSpace space;
        std::vector<Candidate> found;
        Desk(const Plan& plan, int tile_size, const SearchRequest& request)
            : space(plan, tile_size, request) {
            found.reserve(kOffer);
        }
    };
    struct Task {
        const Window* window;
        int64_t first_panel, n_panels;  // of its outputs
    };

    const Plan plan_;
    const Kernels& kernels_;
    const SearchRequest& request_;
    const int tile_size_;
    const SignalReader reader_;
    int n_threads_ = 1;
    std::atomic<bool> stop_{false};
    InterruptPoll poll_;

    std::vector<Desk> desks_;
    std::vector<Level> activations_, deltas_;       // per level
    std::vector<Lots> lots_;                        // per layer
    std::vector<std::unique_ptr<TopPlaces>> tops_;  // per layer
    int64_t capacity_ = 0;                          // columns of a panel
    Floats panels_;
    const bool few_rows_;
    std::vector<double> column_weight_;  // for few rows
    std::vector<double> sums_;

    template <class Task, class Between> void work(Task task, Between between) {
        Crew::run(
            n_threads_,
            [&](int64_t i, int thread) {
                if (!stop_) task(i, thread);
            },
            [&]() -> uint64_t { return stop_ ? 0 : between(); }, [this] { poll_(); });
    }

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
        work(
            [&](int64_t group, int thread) {
                for (int64_t t = 0; t < kTilesAtOnce; t++) {
                    const int64_t row = first + (t * kMaxGroups + group) * tile_size_;
                    if (row >= request_.n_rows) return;
                    const auto add = [&](const Signals& signals) {
                        add_squares(signals, signals.inputs, 0, activations[group]);
                        if (gradient) add_squares(signals, signals.outputs, 1, deltas[group]);
                    };
                    reader_.with_tile(row, plan_.n_layers(), desks_[thread].space, add);
                }
            },
            [&]() -> uint64_t {
                first += step;
                return first < request_.n_rows ? kMaxGroups : 0;
            });
        activations_ = levels_of(plan_, activations);
        if (gradient) deltas_ = levels_of(plan_, deltas);
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
        capacity_ = std::min(kChunk, divide_up(request_.n_rows, 16) * 16);
        column_weight_.assign(capacity_, 0.0);
        panels_.assign(n_neurons * capacity_, 0.0f);
        sums_.assign(n_sums, 0.0);
    }

    // Chunk by chunk of the rows: activations into panels, then their products; at last ranks.
    void fill_and_rank(const Pass& pass) {
        enum class Phase { start, pack, multiply, rank } phase = Phase::start;
        const std::vector<Task> tasks = cut_into_tasks(pass);
        int64_t first = 0, n_columns = 0;
        work(
            [&](int64_t i, int thread) {
                if (phase == Phase::pack) pack_tile(pass, first, i * tile_size_, thread);
                if (phase == Phase::multiply) multiply(tasks[i], n_columns, first > 0);
                if (phase == Phase::rank) rank_pairs(tasks[i], thread);
            },
            [&]() -> uint64_t {
                if (phase == Phase::rank) return 0;
                if (phase == Phase::pack) {
                    phase = Phase::multiply;
                    return tasks.size();
                }
                if (phase == Phase::multiply) first += n_columns;
                n_columns = std::min(kChunk, request_.n_rows - first);
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
            if (few_rows_)
                std::copy_n(signals.weight, signals.n8 * 8, column_weight_.data() + column);
            for (const Window& w : pass.windows) {
                pack(w.inputs, inputs(w.layer), signals.inputs[w.layer], nullptr);
                pack(w.outputs, outputs(w.layer), signals.outputs[w.layer + 1],
                     few_rows_ ? nullptr : signals.weight);
            }
        };
        reader_.with_tile(first + column, pass.last_level, desks_[thread].space, use);
    }

    void multiply(const Task& task, int64_t n_columns, bool accumulate) {
        const Window& w = *task.window;
        const int64_t first_output = task.first_panel * w.outputs.panel_size;
        const float* outputs = panels_.data() + (w.outputs.panels_at + first_output) * capacity_;
        const float* inputs = panels_.data() + w.inputs.panels_at * capacity_;
        double* sums = sums_.data() + w.sums_at + first_output * w.inputs.n_padded();
        if (few_rows_)
            kernels_.products_exact(n_columns, capacity_, task.n_panels, outputs,
                                    w.inputs.n_panels(), inputs, column_weight_.data(), sums);
        else
            kernels_.products(n_columns, capacity_, task.n_panels, outputs, w.inputs.n_panels(),
                              inputs, accumulate, sums);
    }

    void rank_pairs(const Task& task, int thread) {
        const Window& w = *task.window;
        const int64_t first = w.outputs.begin + task.first_panel * w.outputs.panel_size;
        const int64_t last = std::min(first + task.n_panels * w.outputs.panel_size, w.outputs.end);
        for (int64_t o = first; o < last; o++) rank_row(w, o, thread);
        hand_in(w.layer, thread);
    }

    void rank_row(const Window& w, int64_t o, int thread) {
        const int n_out = w.outputs.panel_size, n_in = w.inputs.panel_size;
        const int64_t row = o - w.outputs.begin;
        const double* sums = sums_.data() + w.sums_at + row / n_out * n_out * w.inputs.n_padded() +
                             row % n_out * n_in;
        KeptWalk kept = kept_from(w.layer, o, w.inputs.begin);
        for (int64_t i = w.inputs.begin; i < w.inputs.end; i += n_in, sums += n_out * n_in)
            rank_run(w.layer, o, i, std::min(i + n_in, w.inputs.end), sums, kept, thread);
    }

    // ---- pairs with a silent neuron -----------------------------------------------------------

    // Their products are 0. They are looked at only where too few others were found.
    void rank_silent_pairs(int layer) {
        constexpr int64_t kOutputs = 64;
        TopPlaces& top = *tops_[layer];
        top.settle();
        if (request_.n_wanted[layer] == 0 ||
            top.lowest_rank() > highest_silent_rank(request_.metric))
            return;
        const Level &in = inputs(layer), &out = outputs(layer);
        bool begun = false;
        work(
            [&](int64_t task, int thread) {
                const int64_t end = std::min((task + 1) * kOutputs, out.n_neurons());
                for (int64_t o = task * kOutputs; o < end; o++) {
                    if (o >= out.n_firing()) rank_silent_run(layer, o, 0, in.n_firing(), thread);
                    rank_silent_run(layer, o, in.n_firing(), in.n_neurons(), thread);
                }
                hand_in(layer, thread);
            },
            [&]() -> uint64_t {
                return std::exchange(begun, true) ? 0 : divide_up(out.n_neurons(), kOutputs);
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

    // Among equals without a lot the smaller place comes first; by index, that is the place counted
    // input by input.
    Candidate candidate(int layer, uint32_t rank, int64_t place) const {
        if (request_.ties == Ties::random) return {rank, lots_[layer].of(place), place};
        return {rank, 0, transposed(place, plan_.sizes[layer], plan_.sizes[layer + 1])};
    }

    static int64_t transposed(int64_t place, int64_t n_columns, int64_t n_rows) {
        return place % n_columns * n_rows + place / n_columns;
    }

    std::vector<int64_t> taken_places(int layer) {
        std::vector<int64_t> places = tops_[layer]->take();
        if (request_.ties == Ties::random) return places;
        for (int64_t& place : places)
            place = transposed(place, plan_.sizes[layer + 1], plan_.sizes[layer]);
        std::sort(places.begin(), places.end());
        return places;
    }

    // The pairs of one output with some inputs in ascending order; no products: they are 0.
    void rank_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                  KeptWalk& kept, int thread) {
        const Strength* in = inputs(layer).strength.data();
        const Strength out = outputs(layer).strength[o];
        const uint32_t lowest = tops_[layer]->lowest_rank();
        std::vector<Candidate>& found = desks_[thread].found;
        for (int64_t i = begin; i < end; i++) {
            const double product = products == nullptr ? 0.0 : products[i - begin];
            const uint32_t rank = rank_of(request_.metric, product, in[i], out);
            if (rank < lowest) continue;
            const int64_t place = place_of(layer, o, i);
            if (kept.has(place)) continue;
            found.push_back(candidate(layer, rank, place));
            if (found.size() == kOffer) hand_in(layer, thread);
        }
    }

    void hand_in(int layer, int thread) {
        tops_[layer]->offer(desks_[thread].found);
        desks_[thread].found.clear();
    }
};

}  // namespace

SearchResult best_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                         const Rows& rows, const SearchRequest& request, int n_threads,
                         const std::function<bool()>& interrupted) {
    return Search(layers, activation, loss, rows, request, n_threads, interrupted).run();
}

}  // namespace cofire
