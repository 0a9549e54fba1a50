#include "search/all_pairs.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace cofire {

namespace {

// Samples whose products are summed in float32 before they join the float64 sums. A panel of so
// many columns still fits the first cache.
constexpr int64_t kChunk = 768;
constexpr int64_t kOutputsPerTask = 48;
constexpr double kLowestScore = -std::numeric_limits<double>::infinity();

template <Metric M> using By = std::integral_constant<Metric, M>;

StageNeurons stage_neurons_of(const std::vector<int32_t>& tile_row,
                              const std::vector<double>& squares) {
    StageNeurons stage;
    std::vector<int32_t> inactive;
    for (int32_t j = 0; j < static_cast<int32_t>(tile_row.size()); j++) {
        const int32_t row = tile_row[j];
        if (row >= 0 && squares[row] > 0.0) {
            stage.neuron.push_back(j);
            stage.tile_row.push_back(row);
            stage.strength.emplace_back(squares[row]);
        } else {
            inactive.push_back(j);
        }
    }
    stage.neuron.insert(stage.neuron.end(), inactive.begin(), inactive.end());
    stage.strength.resize(tile_row.size());
    return stage;
}

}  // namespace

AllPairs::AllPairs(const SearchContext& context, const SignalSource& source,
                   const std::vector<int64_t>& n_wanted, bool exact_sums)
    : plan_(context.plan), kernels_(context.kernels), request_(context.request), source_(source),
      n_wanted_(n_wanted), tile_size_(context.tile_size), workers_(context.workers),
      exact_(exact_sums), at_once_(source.n_samples() <= kChunk), floors_(plan_.n_layers()) {
    for (int l = 0; l < plan_.n_layers(); l++) {
        tie_breaks_.push_back(context.tie_break(l));
        draws_.push_back(context.draw(l));
        gates_.push_back(gate_of(request_, l, source.n_samples()));
    }
    for (int t = 0; t < workers_.n_threads(); t++) {
        threads_.push_back({source.make_space(), {}});
        for (int l = 0; l < plan_.n_layers(); l++)
            threads_.back().tops.emplace_back(n_wanted[l], floors_[l]);
    }
}

std::vector<std::vector<RankedPair>> AllPairs::run() {
    measure_strengths();
    if (can_estimate())
        rank_by_estimates();
    else
        rank_by_products();
    for (int l = 0; l < plan_.n_layers(); l++) rank_inactive_pairs(l);
    std::vector<std::vector<RankedPair>> best(plan_.n_layers());
    workers_.parallel_for(plan_.n_layers(),
                          [&](int64_t l, int) { best[l] = TopPairs::best(tops(l)); });
    return best;
}

void AllPairs::rank_by_products() {
    std::vector<Shape> shapes;
    for (int l = 0; l < plan_.n_layers(); l++)
        shapes.push_back({inputs(l).n_firing(), outputs(l).n_firing()});
    const std::vector<Pass> passes = cut_into_passes(shapes, n_wanted_, kernels_.panels);
    allocate(passes);
    for (const Pass& pass : passes) {
        fill_and_rank(pass);
        int64_t n_pairs = 0;
        for (const Window& w : pass.windows)
            n_pairs += (w.outputs.end - w.outputs.begin) * (w.inputs.end - w.inputs.begin);
        multiply_adds_ += source_.n_samples() * (source_.cost(pass.last_stage) + n_pairs);
    }
}

std::vector<int64_t> AllPairs::n_firing() const {
    std::vector<int64_t> n;
    for (const StageNeurons& stage : activations_) n.push_back(stage.n_firing());
    return n;
}

std::vector<TopPairs*> AllPairs::tops(int64_t layer) {
    std::vector<TopPairs*> parts;
    for (ThreadState& thread : threads_) parts.push_back(&thread.tops[layer]);
    return parts;
}

// ---- the neurons that fire, and how strongly -------------------------------------------------

// Tiles are distributed over groups by their number, and the groups summed in their order.
void AllPairs::measure_strengths() {
    constexpr int64_t kTilesAtOnce = 4;  // of a group, before the interrupt is looked at
    const bool gradient = request_.metric == Metric::gradient;
    Squares zeros;
    for (int64_t n : plan_.n_live) zeros.emplace_back(n, 0.0);
    std::vector<Squares> activations(kMaxGroups, zeros), deltas;
    if (gradient) deltas = activations;
    const int64_t step = kTilesAtOnce * kMaxGroups * tile_size_;
    int64_t first = -step;
    workers_.phases(
        [&](int64_t group, int thread) {
            for (int64_t t = 0; t < kTilesAtOnce; t++) {
                const int64_t sample = first + (t * kMaxGroups + group) * tile_size_;
                if (sample >= source_.n_samples()) return;
                const auto add = [&](const Signals& signals) {
                    add_squares(signals, signals.inputs, 0, activations[group]);
                    if (gradient) add_squares(signals, signals.outputs, 1, deltas[group]);
                };
                source_.with_tile(sample, plan_.last_stage(), threads_[thread].space, add);
            }
        },
        [&]() -> uint64_t {
            first += step;
            return first < source_.n_samples() ? kMaxGroups : 0;
        });
    activations_ = stage_neurons(activations);
    if (gradient) deltas_ = stage_neurons(deltas);
    int64_t n_neurons = 0;
    for (int v = 0; v <= plan_.last_stage(); v++)
        n_neurons += plan_.n_live[v] * (gradient && v > 0 ? 2 : 1);
    multiply_adds_ = source_.n_samples() * (source_.cost(plan_.last_stage()) + n_neurons);
}

void AllPairs::add_squares(const Signals& signals, const std::vector<Floats>& stages,
                           int first_stage, Squares& sums) const {
    for (int v = first_stage; v <= plan_.last_stage(); v++)
        kernels_.add_squares(signals.n8, plan_.n_live[v], stages[v].data(), signals.weight,
                             sums[v].data());
}

std::vector<StageNeurons> AllPairs::stage_neurons(std::vector<Squares>& groups) const {
    std::vector<StageNeurons> stages;
    for (int v = 0; v <= plan_.last_stage(); v++) {
        std::vector<double>& sums = groups[0][v];
        for (std::size_t g = 1; g < groups.size(); g++)
            for (int64_t j = 0; j < plan_.n_live[v]; j++) sums[j] += groups[g][v][j];
        stages.push_back(stage_neurons_of(plan_.tile_row[v], sums));
    }
    return stages;
}

// ---- pairs of two neurons that fire ------------------------------------------------------------

void AllPairs::allocate(const std::vector<Pass>& passes) {
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

// Chunk by chunk of the samples: activations into panels, then their products; at last ranks.
// Where there is one chunk, ranks follow products at once, and few sums are held.
void AllPairs::fill_and_rank(const Pass& pass) {
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

std::vector<AllPairs::Task> AllPairs::cut_into_tasks(const Pass& pass) const {
    std::vector<Task> tasks;
    for (const Window& w : pass.windows) {
        const int64_t n = kOutputsPerTask / w.outputs.panel_size;
        for (int64_t p = 0; p < w.outputs.n_panels(); p += n)
            tasks.push_back({&w, p, std::min(n, w.outputs.n_panels() - p)});
    }
    return tasks;
}

void AllPairs::pack_tile(const Pass& pass, int64_t first, int64_t column, int thread) {
    const auto use = [&](const Signals& signals) {
        const auto pack = [&](const Side& side, const StageNeurons& neurons, const Floats& stage,
                              const float* weight) {
            kernels_.pack(signals.n8, stage.data(), side.end - side.begin,
                          neurons.tile_row.data() + side.begin, weight, side.panel_size, capacity_,
                          column, panels_.data() + side.panels_at * capacity_);
        };
        if (exact_) std::copy_n(signals.weight, signals.n8 * 8, column_weight_.data() + column);
        for (const Window& w : pass.windows) {
            pack(w.inputs, inputs(w.layer), signals.inputs[w.layer], nullptr);
            pack(w.outputs, outputs(w.layer), signals.outputs[w.layer + 1],
                 exact_ ? nullptr : signals.weight);
        }
    };
    source_.with_tile(first + column, pass.last_stage, threads_[thread].space, use);
}

double* AllPairs::sums_of(const Task& task, int thread) {
    const Window& w = *task.window;
    if (at_once_) return sums_.data() + thread * kOutputsPerTask * kMaxSide;
    return sums_.data() + w.sums_at + task.first_panel * w.outputs.panel_size * w.inputs.n_padded();
}

void AllPairs::multiply(const Task& task, int64_t n_columns, bool accumulate, double* sums) {
    const Window& w = *task.window;
    const int64_t first_output = task.first_panel * w.outputs.panel_size;
    const float* outputs = panels_.data() + (w.outputs.panels_at + first_output) * capacity_;
    const float* inputs = panels_.data() + w.inputs.panels_at * capacity_;
    if (exact_)
        kernels_.products_exact(n_columns, capacity_, task.n_panels, outputs, w.inputs.n_panels(),
                                inputs, column_weight_.data(), sums);
    else
        kernels_.products(n_columns, capacity_, task.n_panels, outputs, w.inputs.n_panels(), inputs,
                          accumulate, sums);
}

void AllPairs::rank_pairs(const Task& task, const double* sums, int thread) {
    const Window& w = *task.window;
    const int64_t first = w.outputs.begin + task.first_panel * w.outputs.panel_size;
    const int64_t last = std::min(first + task.n_panels * w.outputs.panel_size, w.outputs.end);
    const int64_t n_out = w.outputs.panel_size;
    for (int64_t o = first; o < last; o++)
        rank_output(w, o, sums + (o - first) / n_out * n_out * w.inputs.n_padded(), thread);
}

// sums: those of the panel that o is in.
void AllPairs::rank_output(const Window& w, int64_t o, const double* sums, int thread) {
    const int n_out = w.outputs.panel_size, n_in = w.inputs.panel_size;
    sums += (o - w.outputs.begin) % n_out * n_in;
    KeptCursor kept(request_.kept[w.layer], flat_index(w.layer, o, w.inputs.begin));
    for (int64_t i = w.inputs.begin; i < w.inputs.end; i += n_in, sums += n_out * n_in)
        rank_run(w.layer, o, i, std::min(i + n_in, w.inputs.end), sums, kept, thread);
}

// ---- pairs with an inactive neuron -------------------------------------------------------------

// Their products are 0. They are looked at only where too few others were found.
void AllPairs::rank_inactive_pairs(int layer) {
    constexpr int64_t kAtOnce = 64;
    if (n_wanted_[layer] == 0 || gates_[layer] >= 0.0) return;
    TopPairs::gather(tops(layer));
    if (floors_[layer] > highest_inactive_rank(request_.metric)) return;
    const StageNeurons &in = inputs(layer), &out = outputs(layer);
    workers_.parallel_for(divide_up(out.n_neurons(), kAtOnce), [&](int64_t task, int thread) {
        const int64_t end = std::min((task + 1) * kAtOnce, out.n_neurons());
        for (int64_t o = task * kAtOnce; o < end; o++) {
            if (o >= out.n_firing()) rank_inactive_run(layer, o, 0, in.n_firing(), thread);
            rank_inactive_run(layer, o, in.n_firing(), in.n_neurons(), thread);
        }
    });
}

void AllPairs::rank_inactive_run(int layer, int64_t o, int64_t begin, int64_t end, int thread) {
    if (begin == end) return;
    KeptCursor kept(request_.kept[layer], flat_index(layer, o, begin));
    rank_run(layer, o, begin, end, nullptr, kept, thread);
}

// ---- ranks -------------------------------------------------------------------------------------

void AllPairs::rank_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                        KeptCursor& kept, int thread) {
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

template <Metric metric>
void AllPairs::rank_run_by(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                           KeptCursor& kept, int thread) {
    const Strength* in = inputs(layer).strength.data();
    const Strength out = outputs(layer).strength[o];
    TopPairs& top = threads_[thread].tops[layer];
    const uint32_t lowest = top.lowest_rank();
    // Up to here scores have a lower rank.
    const double low =
        std::max(gates_[layer], lowest > 0 ? score_of_rank(metric, lowest - 1) : kLowestScore);
    for (int64_t i = begin; i < end; i++) {
        const double product = products == nullptr ? 0.0 : products[i - begin];
        const double score = score_of(metric, product, in[i], out);
        if (score <= low) continue;
        const uint32_t rank = rank_of(metric, score);
        if (rank < lowest) continue;
        const int64_t index = flat_index(layer, o, i);
        if (!kept.has(index)) top.offer(tie_breaks_[layer].ranked(rank, index));
    }
}

void AllPairs::draw_run(int layer, int64_t o, int64_t begin, int64_t end, const double* products,
                        KeptCursor& kept, int thread) {
    const Strength* in = inputs(layer).strength.data();
    const Strength out = outputs(layer).strength[o];
    TopPairs& top = threads_[thread].tops[layer];
    const uint32_t lowest = top.lowest_rank();
    const double low = lowest > 0 ? drawn_score_of_rank(lowest - 1) : kLowestScore;
    for (int64_t i = begin; i < end; i++) {
        const double product = products == nullptr ? 0.0 : products[i - begin];
        const double score = score_of(request_.metric, product, in[i], out);
        if (score <= gates_[layer]) continue;
        const int64_t index = flat_index(layer, o, i);
        const double drawn = draws_[layer](score, index, low);
        if (drawn <= low) continue;
        const uint32_t rank = drawn_rank_of(drawn);
        if (rank >= lowest && !kept.has(index)) top.offer(tie_breaks_[layer].ranked(rank, index));
    }
}

}  // namespace cofire
