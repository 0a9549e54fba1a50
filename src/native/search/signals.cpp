#include "search/signals.hpp"

#include <algorithm>

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
    for (std::size_t v = 0; v < context.centres.size(); v++) {
        centres_.emplace_back(plan.n_live[v]);
        for (int64_t j = 0; j < plan.sizes[v]; j++) {
            const int32_t row = plan.tile_row[v][j];
            if (row >= 0) centres_[v][row] = context.centres[v][j];
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
    float weight[kMaxTile];
    fill(first, last_stage, space, weight);
    const TileSamples of_tile = samples(first);
    std::vector<Floats>& stage = space.forward.stage;
    const bool gradient = request_.metric == Metric::gradient;
    use(Signals{of_tile.n8(), stage, gradient ? space.deltas.stage : stage, weight});
    if (!centres_.empty() && request_.rows.kind == Rows::Kind::sparse)
        std::fill_n(stage[0].data(), plan_.n_live[0] * of_tile.n_columns(), 0.0f);
    else
        request_.rows.clear(of_tile, plan_.tile_row[0].data(), stage[0].data());
}

void RowSignals::fill(int64_t first, int last_stage, SignalSpace& space,
                      float weight[kMaxTile]) const {
    const TileSamples of_tile = samples(first);
    const int n8 = of_tile.n8();
    const int64_t* next_ids =
        list_.n - first >= tile_size_ + 8 ? of_tile.ids + tile_size_ : nullptr;
    std::vector<Floats>& stage = space.forward.stage;
    std::fill_n(weight, kMaxTile, 0.0f);
    for (int s = 0; s < of_tile.n; s++) {
        weight[s] = list_.weight == nullptr ? 1.0f : list_.weight[first + s];
        if (request_.sample_weight != nullptr) weight[s] *= request_.sample_weight[of_tile.ids[s]];
    }

    const bool gradient = request_.metric == Metric::gradient;
    request_.rows.gather(kernels_, of_tile, next_ids, plan_.tile_row[0].data(), stage[0].data());
    plan_.forward(kernels_, n8, space.forward, gradient ? plan_.last_stage() : last_stage);
    if (gradient) find_deltas(of_tile, space);
    if (last_stage == plan_.last_stage())
        kernels_.predict(n8, plan_.n_live.back(), stage.back().data(), output_);
    if (!centres_.empty())
        for (int v = 0; v <= last_stage; v++)
            for (int64_t j = 0; j < plan_.n_live[v]; j++)
                centres_[v][j].apply(n8 * 8, stage[v].data() + j * n8 * 8);
    for (int v = 0; v <= plan_.last_stage(); v++)  // the tile row of neurons that are left out
        std::fill_n(stage[v].data() + plan_.n_live[v] * n8 * 8, n8 * 8, 0.0f);
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
        Centres centres;
        for (std::size_t v = 0; v < plan.sizes.size(); v++) {
            centres.emplace_back(plan.sizes[v]);
            for (int64_t j = 0; j < plan.sizes[v]; j++) {
                const int32_t row = plan.tile_row[v][j];
                if (row >= 0) centres[v][j] = Centre(sums[v][row], squares[v][row], weight);
            }
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
