#include "search/race.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "search/windows.hpp"

namespace cofire {

namespace {

constexpr int64_t kFirstRound = 4096;
constexpr double kClear = 4.0;  // standard errors
constexpr double kWorst = 3.0;  // times the errors of all layers that one of them may have
constexpr double kOthers = kMaxGroups / (kMaxGroups - 1.0);  // for a group that is left out

}  // namespace

double Candidates::limit() const {
    std::vector<double> all = scores;
    const auto last = all.begin() + (n_wanted - 1);
    std::nth_element(all.begin(), last, all.end(), std::greater<>());
    return (*last + *std::max_element(last + 1, all.end())) / 2;
}

Race::Race(const SearchContext& context, int64_t n_sure, double tolerance)
    : context_(context), network_(context.network), request_(context.request),
      n_sure_(n_sure < context.request.n_rows ? n_sure : 0), tile_size_(context.tile_size),
      tolerance_(tolerance), workers_(context.workers) {
    for (int t = 0; t < workers_.n_threads(); t++)
        spaces_.emplace_back(context.plan, tile_size_, request_);
}

int64_t Race::run(std::vector<Candidates>& candidates) {
    open_all(candidates);
    int64_t seen = n_sure_, end = n_sure_ + kFirstRound;
    if (n_sure_ > 0 && any_open()) {
        see_rows(candidates, 0, n_sure_);
        for (OpenPairs& pairs : pairs_) set_aside(pairs.product);
        for (Norms& norms : norms_) set_aside(norms.square);
    }
    while (any_open() && seen < request_.n_rows && !workers_.stopped()) {
        end = std::min(end, request_.n_rows);
        see_rows(candidates, seen, end);
        seen = end;
        end = next_end(seen, decide(candidates, seen));
    }
    return seen;
}

bool Race::any_open() const {
    return std::any_of(pairs_.begin(), pairs_.end(),
                       [](const OpenPairs& pairs) { return !pairs.open.empty(); });
}

void Race::open_all(const std::vector<Candidates>& candidates) {
    plan_.reset();
    pairs_.assign(n_layers(), {});
    norms_.assign(n_layers() + 1, {});
    for (int v = 0; v <= n_layers(); v++) norms_[v].slot.assign(network_.n_neurons(v), -1);
    for (int l = 0; l < n_layers(); l++) {
        const int64_t n = static_cast<int64_t>(candidates[l].indices.size());
        if (n <= candidates[l].n_wanted) continue;  // all of them are chosen
        for (int64_t c = 0; c < n; c++) pairs_[l].open.push_back(c);
        for (auto& sums : pairs_[l].product) sums.assign(n, 0.0);
    }
    choose_slots(candidates);
}

// Neurons leave, none is ever added: sums include all rows from the first on.
void Race::choose_slots(const std::vector<Candidates>& candidates) {
    Marks wanted;
    for (int v = 0; v <= n_layers(); v++) wanted.emplace_back(network_.n_neurons(v), uint8_t{0});
    for (int l = 0; l < n_layers(); l++)
        for (int64_t c : pairs_[l].open) {
            wanted[l][input(l, candidates[l].indices[c])] = 1;
            wanted[l + 1][output(l, candidates[l].indices[c])] = 1;
        }
    for (int v = 0; v <= n_layers(); v++) {
        Norms before = std::move(norms_[v]), &after = norms_[v] = {};
        after.slot.assign(wanted[v].size(), -1);
        for (int32_t j = 0; j < static_cast<int32_t>(wanted[v].size()); j++) {
            if (!wanted[v][j]) continue;
            after.slot[j] = static_cast<int32_t>(after.neurons.size());
            after.neurons.push_back(j);
            for (int g = 0; g <= kGroups; g++)
                after.square[g].push_back(before.slot[j] < 0 ? 0.0
                                                             : before.square[g][before.slot[j]]);
        }
    }
}

void Race::set_aside(Sums& sums) {
    for (int g = 0; g < kGroups; g++)
        for (std::size_t k = 0; k < sums[g].size(); k++) {
            sums[kGroups][k] += sums[g][k];
            sums[g][k] = 0.0;
        }
}

// ---- a round -----------------------------------------------------------------------------------

// Only what open candidates depend on is computed. The tiles of a group follow each other: while
// one is worked on, the next is prefetched.
void Race::see_rows(const std::vector<Candidates>& candidates, int64_t begin, int64_t end) {
    const int64_t n_tiles = divide_up(end - begin, tile_size_);
    make_plan();
    const Plan& plan = *plan_;
    const Watched watched = watch(plan, candidates);
    const RowSignals rows(context_, plan, {request_.row_ids, request_.n_rows});
    int64_t per_row = rows.cost(watched.last_stage);
    for (const OpenPairs& pairs : pairs_) per_row += static_cast<int64_t>(pairs.open.size());
    for (const Norms& norms : norms_) per_row += static_cast<int64_t>(norms.neurons.size());
    multiply_adds_ += (end - begin) * per_row;
    workers_.parallel_for(kGroups, [&](int64_t group, int thread) {
        for (int64_t t = group * n_tiles / kGroups; t < (group + 1) * n_tiles / kGroups; t++) {
            if (workers_.stopped()) return;
            rows.with_tile(begin + t * tile_size_, watched.last_stage, spaces_[thread],
                           [&](const Signals& signals) { add(watched, signals, group); });
        }
    });
}

// Makes a new plan only where much less is wanted than the time before.
void Race::make_plan() {
    std::size_t n = 0;
    for (const Norms& norms : norms_) n += norms.neurons.size();
    if (plan_ && 4 * n > 3 * n_planned_) return;
    n_planned_ = n;
    Marks wanted;
    for (int v = 0; v <= n_layers(); v++) {
        wanted.emplace_back(network_.n_neurons(v), uint8_t{0});
        for (int32_t j : norms_[v].neurons) wanted[v][j] = 1;
    }
    if (traits(network_.output).is_joint && !norms_.back().neurons.empty())
        std::fill(wanted.back().begin(), wanted.back().end(), uint8_t{1});
    plan_ = std::make_unique<Plan>(network_, Purpose::every_unit, &wanted);
}

// A neuron that is left out never fires: it gets the tile row of zeros behind the others.
Race::Watched Race::watch(const Plan& plan, const std::vector<Candidates>& candidates) const {
    Watched watched;
    const auto tile_row_of = [&](int stage, int64_t neuron) {
        const int32_t row = plan.tile_row[stage][neuron];
        return row >= 0 ? row : static_cast<int32_t>(plan.n_live[stage]);
    };
    watched.in.resize(n_layers());
    watched.out.resize(n_layers());
    for (int l = 0; l < n_layers(); l++)
        for (int64_t c : pairs_[l].open) {
            const int64_t index = candidates[l].indices[c];
            watched.in[l].push_back(tile_row_of(l, input(l, index)));
            watched.out[l].push_back(tile_row_of(l + 1, output(l, index)));
            watched.last_stage = l + 1;
        }
    for (int v = 0; v <= n_layers(); v++) {
        watched.neurons.emplace_back();
        for (int32_t j : norms_[v].neurons) watched.neurons[v].push_back(tile_row_of(v, j));
    }
    return watched;
}

void Race::add(const Watched& watched, const Signals& signals, int64_t group) {
    const bool all_one = std::all_of(signals.weight, signals.weight + signals.n8 * 8,
                                     [](float w) { return w == 1.0f; });
    const float* weight = all_one ? nullptr : signals.weight;
    const auto add_pairs = [&](const Floats& a, const std::vector<int32_t>& a_tile_row,
                               const Floats& b, const std::vector<int32_t>& b_tile_row,
                               std::vector<double>& sums) {
        context_.kernels.pair_sums(signals.n8, static_cast<int64_t>(a_tile_row.size()), a.data(),
                                   a_tile_row.data(), b.data(), b_tile_row.data(), weight,
                                   sums.data());
    };
    for (int l = 0; l < watched.last_stage; l++)
        add_pairs(signals.inputs[l], watched.in[l], signals.outputs[l + 1], watched.out[l],
                  pairs_[l].product[group]);
    for (int v = 0; v <= watched.last_stage; v++)
        add_pairs(signals.inputs[v], watched.neurons[v], signals.inputs[v], watched.neurons[v],
                  norms_[v].square[group]);
}

// Standard errors fall with the square root of 1 / seen - 1 / all, and with them the expected
// errors: so the number of rows after which they will be few enough is known. At least a first
// round more, and at most as many rows again, after which fewer candidates are open.
int64_t Race::next_end(int64_t seen, double excess) const {
    const double all = static_cast<double>(request_.n_rows - n_sure_);
    const int64_t sample = seen - n_sure_;
    const double wanted = excess > 1.0 ? 1.0 / (excess * excess) : 1.0;
    const double enough = 1.02 / ((1.0 / sample - 1.0 / all) * wanted + 1.0 / all);
    const int64_t end =
        std::clamp(static_cast<int64_t>(std::min(enough, all)), sample + kFirstRound, 2 * sample);
    return n_sure_ + (end + tile_size_ - 1) / tile_size_ * tile_size_;
}

// ---- after a round -----------------------------------------------------------------------------

// How many rows a row of the sample stands for.
double Race::scale(int64_t seen) const {
    return static_cast<double>(request_.n_rows - n_sure_) / (seen - n_sure_);
}

std::vector<Race::NeuronEstimate> Race::estimate_neurons(const Norms& norms, int64_t seen) const {
    const double scale = this->scale(seen);
    std::vector<NeuronEstimate> all(norms.neurons.size());
    for (std::size_t j = 0; j < all.size(); j++) {
        double sum = 0.0, squares = 0.0;
        for (int g = 0; g < kGroups; g++) {
            sum += norms.square[g][j];
            squares += norms.square[g][j] * norms.square[g][j];
        }
        const double sure = norms.square[kGroups][j];
        all[j].all = Strength(sure + scale * sum);
        for (int g = 0; g < kGroups; g++)
            all[j].without[g] = Strength(sure + scale * kOthers * (sum - norms.square[g][j]));
        all[j].even = sum == 0.0 ? sure > 0.0 : sum * sum > 0.75 * kGroups * squares;
    }
    return all;
}

// About the standard error of a sketch's cosine where only some of the rows in which a rare
// neuron fires were in the sample; nothing is known of the other scores.
double Race::sketch_error(double score) const {
    if (!is_cosine(request_.metric)) return std::numeric_limits<double>::infinity();
    return (1.0 - std::min(score * score, 1.0)) / 8.0 + 0x1p-16;
}

// The variance is that of the jackknife.
Race::PairEstimate Race::estimate_pair(const Sums& product, std::size_t k, const NeuronEstimate& in,
                                       const NeuronEstimate& out, int64_t seen) const {
    const double scale = this->scale(seen), sure = product[kGroups][k];
    double sum = 0.0;
    for (int g = 0; g < kGroups; g++) sum += product[g][k];
    const double all = score_of(request_.metric, sure + scale * sum, in.all, out.all);
    double mean = 0.0, squares = 0.0;
    for (int g = 0; g < kGroups && seen < request_.n_rows; g++) {
        const double others = sure + scale * kOthers * (sum - product[g][k]);
        const double change =
            score_of(request_.metric, others, in.without[g], out.without[g]) - all;
        mean += change / kGroups;
        squares += change * change;
    }
    const double spread = std::max(squares - mean * mean * kGroups, 0.0);
    return {all, spread / kOthers * (1.0 - 1.0 / scale)};
}

// Returns the expected errors over those that are tolerated.
double Race::decide(std::vector<Candidates>& candidates, int64_t seen) {
    std::vector<std::vector<NeuronEstimate>> neurons;  // per stage
    for (const Norms& norms : norms_) neurons.push_back(estimate_neurons(norms, seen));
    std::vector<std::vector<int64_t>> still_open(n_layers());
    const auto decide_layer = [&](int64_t l, int) {
        Candidates& of_layer = candidates[l];
        const std::vector<int64_t>& open = pairs_[l].open;
        if (open.empty()) return;
        std::vector<double> error(open.size());
        std::vector<uint8_t> unknown(open.size(), 0);
        for (std::size_t k = 0; k < open.size(); k++) {
            const int64_t index = of_layer.indices[open[k]];
            const NeuronEstimate& in = neurons[l][norms_[l].slot[input(l, index)]];
            const NeuronEstimate& out = neurons[l + 1][norms_[l + 1].slot[output(l, index)]];
            unknown[k] = seen < request_.n_rows && !(in.even && out.even);
            if (unknown[k]) {
                error[k] = sketch_error(of_layer.scores[open[k]]);
                continue;
            }
            const PairEstimate e = estimate_pair(pairs_[l].product, k, in, out, seen);
            of_layer.scores[open[k]] = e.score;
            error[k] = std::sqrt(e.variance);
        }
        still_open[l] = undecided(of_layer, open, error, unknown);
    };
    std::size_t n_open = 0;
    for (const OpenPairs& pairs : pairs_) n_open += pairs.open.size();
    if (n_open > 4096)
        workers_.parallel_for(n_layers(), decide_layer);
    else  // threads are not worth starting
        for (int l = 0; l < n_layers(); l++) decide_layer(l, 0);

    double errors = 0.0, n_wanted = 0.0, worst = 0.0;
    for (const Candidates& of_layer : candidates) {
        const double n = static_cast<double>(of_layer.n_wanted);
        errors += of_layer.expected_errors;
        n_wanted += n;
        if (of_layer.expected_errors > 0.0) worst = std::max(worst, of_layer.expected_errors / n);
    }
    double excess = std::numeric_limits<double>::infinity();  // where none is tolerated
    if (tolerance_ > 0.0)
        excess = std::max(errors / (tolerance_ * n_wanted), worst / (kWorst * tolerance_));
    for (int l = 0; l < n_layers(); l++)
        pairs_[l].keep(excess <= 1.0 ? std::vector<int64_t>() : still_open[l]);
    choose_slots(candidates);
    return excess;
}

// Those of the open ones that may yet be in or out. Where no error is tolerated, none is clearly
// either before all rows were seen.
std::vector<int64_t> Race::undecided(Candidates& candidates, const std::vector<int64_t>& open,
                                     const std::vector<double>& error,
                                     const std::vector<uint8_t>& unknown) const {
    const double limit = candidates.limit();
    std::vector<int64_t> close;
    double errors = 0.0;
    for (int64_t k = 0; k < static_cast<int64_t>(open.size()); k++) {
        const double distance = std::abs(candidates.scores[open[k]] - limit);
        const bool clear = distance > kClear * error[k] || error[k] == 0.0;
        if (!clear) errors += 0.5 * std::erfc(distance / error[k] / std::sqrt(2.0));
        if (!clear || unknown[k] || tolerance_ == 0.0) close.push_back(k);
    }
    // Each one that is wrongly out corresponds to one that is wrongly in.
    candidates.expected_errors = errors / 2;
    return close;
}

void Race::OpenPairs::keep(const std::vector<int64_t>& which) {
    const auto keep_in = [&](auto& numbers) {
        for (std::size_t k = 0; k < which.size(); k++) numbers[k] = numbers[which[k]];
        numbers.resize(which.size());
    };
    keep_in(open);
    for (std::vector<double>& sums : product) keep_in(sums);
}

}  // namespace cofire
