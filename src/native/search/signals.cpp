#include "search/signals.hpp"

#include <algorithm>
#include <utility>

#include "search/windows.hpp"

namespace cofire {

SignalSpace::SignalSpace(const Plan& plan, int tile_size, const SearchRequest& request)
    : forward(plan.make_space(tile_size)) {
    if (request.metric != Metric::gradient) return;
    deltas = plan.make_space(tile_size);
    int64_t n_connections = 0;
    for (const PlanLayer& layer : plan.layers)
        n_connections = std::max(n_connections, layer.weights.n_live);
    gradient.resize(n_connections + 16);
    bias.resize(plan.widest() + 16);
    fired.resize(plan.widest());
    targets.resize(request.targets.scratch_size(plan.n_live.back()));
}

RowSignals::RowSignals(const SearchContext& context, const Plan& plan, const RowList& list)
    : plan_(plan), kernels_(context.kernels), output_(context.network.output),
      request_(context.request), list_(list), tile_size_(context.tile_size) {
    const Centres& centres = context.centres;
    for (std::size_t v = 0; v < centres.mean.size(); v++) {
        mean_.emplace_back(plan.n_live[v], 0.0f);
        varies_.emplace_back(plan.n_live[v], uint8_t{0});
        for (int64_t j = 0; j < plan.sizes[v]; j++) {
            const int32_t row = plan.tile_row[v][j];
            if (row < 0) continue;
            mean_[v][row] = centres.mean[v][j];
            varies_[v][row] = centres.varies[v][j];
        }
    }
}

int64_t RowSignals::cost(int last_stage) const {
    if (request_.metric != Metric::gradient) return plan_.n_connections(last_stage);
    const int64_t all = plan_.n_connections(plan_.last_stage());
    return all + 2 * (all - plan_.n_connections(1));  // backward: deltas and gradients
}

void RowSignals::with_tile(int64_t first, int last_stage, SignalSpace& space,
                           const Use& use) const {
    const int64_t rest = list_.n - first;
    const TileSamples samples{list_.ids + first,
                              static_cast<int>(std::min<int64_t>(tile_size_, rest))};
    const int n8 = samples.n8();
    const int64_t* next_ids = rest >= tile_size_ + 8 ? samples.ids + tile_size_ : nullptr;
    const int32_t* tile_row = plan_.tile_row[0].data();
    std::vector<Floats>& stage = space.forward.stage;
    float weight[kMaxTile] = {};
    for (int s = 0; s < samples.n; s++) {
        weight[s] = list_.weight == nullptr ? 1.0f : list_.weight[first + s];
        if (request_.sample_weight != nullptr) weight[s] *= request_.sample_weight[samples.ids[s]];
    }

    const bool gradient = request_.metric == Metric::gradient;
    request_.rows.gather(kernels_, samples, next_ids, tile_row, stage[0].data());
    plan_.forward(kernels_, n8, space.forward, gradient ? plan_.last_stage() : last_stage);
    if (gradient) find_deltas(samples, space);
    if (last_stage == plan_.last_stage())
        kernels_.predict(n8, plan_.n_live.back(), stage.back().data(), output_);
    if (!mean_.empty()) centre(n8, last_stage, stage);
    for (int v = 0; v <= plan_.last_stage(); v++)  // the tile row of neurons that are left out
        std::fill_n(stage[v].data() + plan_.n_live[v] * n8 * 8, n8 * 8, 0.0f);
    use(Signals{n8, stage, gradient ? space.deltas.stage : stage, weight});
    if (!mean_.empty() && request_.rows.kind == Rows::Kind::sparse)
        std::fill_n(stage[0].data(), plan_.n_live[0] * n8 * 8, 0.0f);
    else
        request_.rows.clear(samples, tile_row, stage[0].data());
}

void RowSignals::centre(int n8, int last_stage, std::vector<Floats>& stage) const {
    const int64_t stride = n8 * 8;
    for (int v = 0; v <= last_stage; v++)
        for (int64_t j = 0; j < plan_.n_live[v]; j++) {
            float* tile_row = stage[v].data() + j * stride;
            const float mean = mean_[v][j], factor = varies_[v][j] ? 1.0f : 0.0f;
            for (int64_t s = 0; s < stride; s++) tile_row[s] = (tile_row[s] - mean) * factor;
        }
}

// backward overwrites activations with deltas, so it works on a copy: the activations are still
// wanted. The deltas are those of each sample's own loss; its weight is applied where products are
// summed.
void RowSignals::find_deltas(const TileSamples& samples, SignalSpace& space) const {
    const int last = plan_.last_stage(), n8 = samples.n8();
    std::vector<Floats>& delta = space.deltas.stage;
    for (int v = 1; v <= last; v++)
        std::copy_n(space.forward.stage[v].data(), plan_.n_live[v] * n8 * 8, delta[v].data());
    float one[kMaxTile] = {};
    std::fill_n(one, samples.n, 1.0f);
    request_.targets.loss_and_delta(kernels_, output_, samples, plan_.n_live.back(), one, one,
                                    space.targets.data(), delta[last].data());
    for (int l = last - 1; l > 0; l--)
        kernels_.backward(n8, plan_.layers[l].by_input(), delta[l + 1].data(), delta[l].data(),
                          plan_.activation, space.gradient.data(), space.bias.data(), false,
                          space.fired.data(), plan_.is_far(l + 1, n8));
}

namespace {

// Per stage and tile row: weighted sums of the signal and of its square.
struct Moments {
    std::vector<std::vector<double>> sums, squares;
    double weight = 0.0;

    explicit Moments(const Plan& plan) {
        for (int64_t n : plan.n_live) sums.emplace_back(n, 0.0);
        squares = sums;
    }
    void add(const Plan& plan, const Signals& signals) {
        const int64_t stride = signals.n8 * 8;
        for (int64_t s = 0; s < stride; s++) weight += signals.weight[s];
        for (int v = 0; v <= plan.last_stage(); v++)
            for (int64_t j = 0; j < plan.n_live[v]; j++) {
                const float* tile_row = signals.inputs[v].data() + j * stride;
                double sum = 0.0, square = 0.0;
                for (int64_t s = 0; s < stride; s++) {
                    const double x = tile_row[s], weighted = signals.weight[s] * x;
                    sum += weighted;
                    square += weighted * x;
                }
                sums[v][j] += sum;
                squares[v][j] += square;
            }
    }
    void add(const Moments& other) {
        weight += other.weight;
        for (std::size_t v = 0; v < sums.size(); v++)
            for (std::size_t j = 0; j < sums[v].size(); j++) {
                sums[v][j] += other.sums[v][j];
                squares[v][j] += other.squares[v][j];
            }
    }
    Centres centres(const Plan& plan) const {
        constexpr double kRounding = 0x1p-40;  // of the mean square
        Centres centres;
        for (std::size_t v = 0; v < plan.sizes.size(); v++) {
            std::vector<float> mean(plan.sizes[v], 0.0f);
            std::vector<uint8_t> varies(plan.sizes[v], 0);
            for (int64_t j = 0; j < plan.sizes[v]; j++) {
                const int32_t row = plan.tile_row[v][j];
                if (row < 0 || weight <= 0.0) continue;
                const double sum = sums[v][row], square = squares[v][row];
                mean[j] = static_cast<float>(sum / weight);
                varies[j] = square - sum * sum / weight > kRounding * square;
            }
            centres.mean.push_back(std::move(mean));
            centres.varies.push_back(std::move(varies));
        }
        return centres;
    }
};

}  // namespace

// Tiles are distributed over groups by their number, and the groups summed in their order.
int64_t find_centres(SearchContext& context, const RowList& list) {
    if (context.request.metric != Metric::pearson) return 0;
    const Plan& plan = context.plan;
    Workers& workers = context.workers;
    const RowSignals rows(context, plan, list);
    std::vector<Moments> groups(kMaxGroups, Moments(plan));
    std::vector<SignalSpace> spaces;
    for (int t = 0; t < workers.n_threads(); t++) spaces.push_back(rows.make_space());
    const int64_t n_tiles = divide_up(list.n, context.tile_size);
    workers.parallel_for(kMaxGroups, [&](int64_t group, int thread) {
        for (int64_t t = group; t < n_tiles && !workers.stopped(); t += kMaxGroups)
            rows.with_tile(t * context.tile_size, plan.last_stage(), spaces[thread],
                           [&](const Signals& signals) { groups[group].add(plan, signals); });
    });
    for (int g = 1; g < kMaxGroups; g++) groups[0].add(groups[g]);
    context.centres = groups[0].centres(plan);
    int64_t n_neurons = 0;
    for (int64_t n : plan.n_live) n_neurons += n;
    return list.n * (rows.cost(plan.last_stage()) + n_neurons);
}

}  // namespace cofire
