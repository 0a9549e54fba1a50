// Ranks by estimates, where there are few rows.
//
// A float32 product of unit vectors is known to a few units of its last place times the number of
// rows. Pairs whose estimate is that far below what they would have to reach are left out; the
// others, hardly more than those that are found, are summed and ranked as all others are
// (products.hpp, rank_run). So the pairs found are the same.
#include <algorithm>
#include <cmath>

#include "search/all_pairs.hpp"
#include "search/held.hpp"

namespace cofire {

namespace {

constexpr int64_t kInputsPerTask = 1024;

// Some neurons as unit vectors, in panels.
struct UnitVectors {
    int stage = 0, panel_size = 1;
    bool weighted = false;
    const StageNeurons* neurons = nullptr;
    int64_t panel_stride = 0;
    std::vector<float> factor;
    Floats panels;

    UnitVectors(int at_stage, const StageNeurons& of, int size, bool with_weight, int64_t n_samples)
        : stage(at_stage), panel_size(size), weighted(with_weight), neurons(&of),
          panel_stride(size * n_samples) {
        for (int64_t k = 0; k < of.n_firing(); k++)
            factor.push_back(static_cast<float>(of.strength[k].inverse_norm));
        panels.assign(divide_up(of.n_firing(), size) * panel_stride, 0.0f);
    }
    const float* panel(int64_t p) const { return panels.data() + p * panel_stride; }

    // Neurons begin …, at most n; begin is a multiple of the panel's size.
    void pack(const HeldSignals& held, const Kernels& kernels, int64_t begin, int64_t n) {
        int64_t column = 0;
        for (const HeldSignals::Tile& tile : held.tiles()) {
            kernels.pack_columns(
                tile.n8(), tile.n, tile.stage(stage), std::min(n, neurons->n_firing() - begin),
                neurons->tile_row.data() + begin, factor.data() + begin,
                weighted ? tile.weight : nullptr, panel_size, panel_stride,
                panels.data() + begin / panel_size * panel_stride + column * panel_size);
            column += tile.n;
        }
    }
};

// The largest sum of squares.
double largest_square(const StageNeurons& neurons) {
    double largest = 0.0;
    for (int64_t k = 0; k < neurons.n_firing(); k++)
        largest = std::max(largest, neurons.strength[k].square);
    return largest;
}

}  // namespace

struct AllPairs::Estimated {
    int layer;
    UnitVectors inputs, outputs;
};

// Signals so large that their products would not be finite in float32 are left to
// rank_by_products, and so are negative weights, for which the bound on estimates is wrong.
// So are searches that want a good part of the pairs: they would sum up too many one by one.
bool AllPairs::can_estimate() const {
    constexpr double kLargest = 1e36;
    constexpr int64_t kPairsPerSum = 8;
    const HeldSignals* held = source_.held();
    if (held == nullptr || !at_once_ || !is_cosine(request_.metric)) return false;
    for (const HeldSignals::Tile& tile : held->tiles())
        for (const float weight : tile.weight)
            if (!(weight >= 0.0f)) return false;
    for (const StageNeurons& stage : activations_)
        if (!(largest_square(stage) < kLargest)) return false;
    int64_t n_pairs = 0, n_sums = 0;
    for (int l = 0; l < plan_.n_layers(); l++) {
        if (n_wanted_[l] == 0) continue;
        n_pairs += inputs(l).n_firing() * outputs(l).n_firing();
        n_sums += TopPairs::capacity(n_wanted_[l]);
    }
    return n_pairs >= kPairsPerSum * n_sums;
}

void AllPairs::rank_by_estimates() {
    const HeldSignals& held = *source_.held();
    const int64_t n_samples = source_.n_samples();
    std::vector<Estimated> layers;
    struct Pack {
        UnitVectors* vectors;
        int64_t begin;
    };
    struct Rank {
        const Estimated* layer;
        int64_t first_output, first_input;
    };
    std::vector<Pack> packs;
    std::vector<Rank> ranks;
    for (int l = 0; l < plan_.n_layers(); l++) {
        const StageNeurons &in = inputs(l), &out = outputs(l);
        if (n_wanted_[l] == 0 || in.n_firing() == 0 || out.n_firing() == 0) continue;
        multiply_adds_ += n_samples * in.n_firing() * out.n_firing();
        layers.push_back({l,
                          {l, in, kernels_.estimates.n_inputs, false, n_samples},
                          {l + 1, out, kernels_.estimates.n_outputs, true, n_samples}});
    }
    for (Estimated& layer : layers) {
        const int64_t n_in = inputs(layer.layer).n_firing(),
                      n_out = outputs(layer.layer).n_firing();
        for (int64_t i = 0; i < n_in; i += kInputsPerTask) packs.push_back({&layer.inputs, i});
        for (int64_t o = 0; o < n_out; o += kEstimatedOutputs) {
            packs.push_back({&layer.outputs, o});
            for (int64_t i = 0; i < n_in; i += kInputsPerTask) ranks.push_back({&layer, o, i});
        }
    }
    int phase = 0;
    workers_.phases(
        [&](int64_t i, int thread) {
            if (phase == 1)
                packs[i].vectors->pack(
                    held, kernels_, packs[i].begin,
                    packs[i].vectors->weighted ? kEstimatedOutputs : kInputsPerTask);
            else
                rank_estimated(*ranks[i].layer, ranks[i].first_output, ranks[i].first_input,
                               thread);
        },
        [&]() -> uint64_t {
            phase++;
            return phase == 1 ? packs.size() : phase == 2 ? ranks.size() : 0;
        });
}

void AllPairs::rank_estimated(const Estimated& of, int64_t first_output, int64_t first_input,
                              int thread) {
    const HeldSignals& held = *source_.held();
    const int64_t n_samples = source_.n_samples();
    const int l = of.layer;
    const StageNeurons &in = inputs(l), &out = outputs(l);
    const int n_in = of.inputs.panel_size, n_out = of.outputs.panel_size;
    const int64_t last_output = std::min(first_output + kEstimatedOutputs, out.n_firing());
    const int64_t last_input = std::min(first_input + kInputsPerTask, in.n_firing());
    // Bounds what estimates and float32 sums stray from the score: by Cauchy and Schwarz, products
    // of unit vectors sum up to 1 at most, and each of n additions rounds by half a unit in the
    // last place of that.
    const double margin = static_cast<double>(2 * n_samples + 32) * 0x1p-24;
    const Metric metric = request_.metric;
    const bool drawn = request_.sharpness > 0;
    TopPairs& top = threads_[thread].tops[l];

    std::vector<KeptCursor> kept;
    for (int64_t o = first_output; o < last_output; o++)
        kept.emplace_back(request_.kept[l], flat_index(l, o, first_input));
    std::vector<PairTile> pair;
    for (const HeldSignals::Tile& tile : held.tiles())
        pair.push_back({tile.n8(), nullptr, nullptr, tile.weight});
    const auto look_at = [&](int64_t o, int64_t i) {
        for (std::size_t t = 0; t < pair.size(); t++) {
            const HeldSignals::Tile& tile = held.tiles()[t];
            pair[t].output = tile.stage(l + 1) + out.tile_row[o] * tile.n8() * 8;
            pair[t].input = tile.stage(l) + in.tile_row[i] * tile.n8() * 8;
        }
    };
    const auto prefetch = [&] {
        for (const PairTile& tile : pair)
            for (int s = 0; s < tile.n8; s += 2) __builtin_prefetch(tile.input + 8 * s);
    };
    const auto product = exact_ ? kernels_.pair_product_exact : kernels_.pair_product;

    constexpr int64_t kMostPairs = (kEstimatedOutputs + 1) * kMostEstimatedInputs;
    uint16_t which[kMostPairs];
    float estimates[kMostPairs];
    for (int64_t i0 = first_input; i0 < last_input; i0 += n_in) {
        const uint32_t lowest = top.lowest_rank();
        double limit = gates_[l], low = 0.0;
        if (drawn && lowest > 0) low = drawn_score_of_rank(lowest - 1);
        if (!drawn && lowest > 0) limit = std::max(limit, score_of_rank(metric, lowest - 1));
        const int64_t n = kernels_.estimates_above(
            n_samples, divide_up(last_output - first_output, n_out),
            of.outputs.panel(first_output / n_out), of.inputs.panel(i0 / n_in),
            metric == Metric::lowest_cosine ? -1.0f : 1.0f, static_cast<float>(limit - margin),
            which, estimates);
        int64_t n_close = 0;
        for (int64_t k = 0; k < n; k++) {
            const int64_t o = first_output + which[k] / n_in, i = i0 + which[k] % n_in;
            if (o >= last_output || i >= last_input) continue;  // padding
            if (drawn && draws_[l].is_out(estimates[k] + margin, flat_index(l, o, i), low))
                continue;
            which[n_close++] = which[k];
            look_at(o, i);
            prefetch();
        }
        for (int64_t k = 0; k < n_close; k++) {
            const int64_t o = first_output + which[k] / n_in, i = i0 + which[k] % n_in;
            look_at(o, i);
            const double sum = product(static_cast<int64_t>(pair.size()), pair.data());
            rank_run(l, o, i, i + 1, &sum, kept[o - first_output], thread);
        }
    }
}

}  // namespace cofire
