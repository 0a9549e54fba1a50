#include "search/hashing.hpp"

#include <algorithm>

#include "search/windows.hpp"

namespace cofire {

namespace {

constexpr int64_t kNeuronsPerTask = 4096;

// About sixteen outputs in a bucket.
int bits_for(int64_t n) {
    int bits = 1;
    while (bits < 30 && (int64_t{16} << bits) < n) bits++;
    return bits;
}

// Calls body(j, scratch) for 0 <= j < n; each task has its own scratch, made by make().
template <class Make, class Body>
void for_each_neuron(Workers& workers, int64_t n, Make make, Body body) {
    workers.parallel_for(divide_up(n, kNeuronsPerTask), [&](int64_t task, int) {
        auto scratch = make();
        const int64_t end = std::min((task + 1) * kNeuronsPerTask, n);
        for (int64_t j = task * kNeuronsPerTask; j < end; j++) body(j, scratch);
    });
}

void walsh_hadamard_transform(std::vector<float>& x) {
    const int64_t size = static_cast<int64_t>(x.size());
    for (int64_t half = 1; half < size; half *= 2)
        for (int64_t a = 0; a < size; a += 2 * half)
            for (int64_t b = a; b < a + half; b++) {
                const float p = x[b], q = x[b + half];
                x[b] = p + q;
                x[b + half] = p - q;
            }
}

}  // namespace

HashedPairs::HashedPairs(const SearchContext& context, const Sketch& sketch, int64_t n_tables,
                         int64_t n_meetings)
    : context_(context), plan_(context.plan), request_(context.request), sketch_(sketch),
      n_tables_(n_tables), n_meetings_(n_meetings), workers_(context.workers) {
    for (int v = 0; v <= plan_.last_stage(); v++) strengths_.push_back(measure(v));
    for (const std::vector<double>& strengths : strengths_)
        multiply_adds_ += static_cast<int64_t>(strengths.size()) * sketch.n_samples();
}

HashedPairs::Buckets::Buckets(const std::vector<uint32_t>& hashes,
                              const std::vector<double>& strength, int n_bits)
    : start((std::size_t{1} << n_bits) + 1, 0) {
    const int32_t n = static_cast<int32_t>(hashes.size());
    for (int32_t j = 0; j < n; j++) start[hashes[j] + 1] += strength[j] > 0.0;
    for (std::size_t h = 1; h < start.size(); h++) start[h] += start[h - 1];
    tile_row.resize(start.back());
    hash.resize(start.back());
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (int32_t j = 0; j < n; j++)
        if (strength[j] > 0.0) {
            const int64_t place = next[hashes[j]]++;
            tile_row[place] = j;
            hash[place] = hashes[j];
        }
}

HashedPairs::Kept::Kept(const FlatIndices& indices, int64_t n_in, int64_t n_out)
    : indices_(indices), start_(n_out + 1, 0) {
    for (const int64_t* index = indices.begin; index != indices.end; index++)
        start_[*index / n_in + 1]++;
    for (int64_t o = 0; o < n_out; o++) start_[o + 1] += start_[o];
}

// Whether signals of a layer can be negative. Then opposite ones are similar as well.
bool HashedPairs::can_be_negative(int layer) const {
    if (layer == 0 || request_.metric == Metric::pearson) return true;
    const bool is_last = layer + 1 == plan_.n_layers();
    return !traits(plan_.activation).never_negative ||
           (is_last && !traits(context_.network.output).is_probability);
}

std::vector<int64_t> HashedPairs::run(int layer) {
    const int64_t n_wanted = request_.n_wanted[layer];
    std::atomic<uint32_t> floor{0};
    std::vector<TopPairs> tops;  // per thread
    for (int t = 0; t < workers_.n_threads(); t++) tops.emplace_back(n_wanted, floor, true);
    const int n_bits = bits_for(plan_.n_live[layer + 1]);
    const uint32_t all_bits = (uint32_t{1} << n_bits) - 1;
    if (n_wanted > 0 && plan_.n_live[layer] > 0 && plan_.n_live[layer + 1] > 0) {
        const Kept kept(request_.kept[layer], plan_.sizes[layer], plan_.sizes[layer + 1]);
        for (int64_t table = 0; table < n_tables_ && !workers_.stopped(); table++) {
            const uint64_t salt = static_cast<uint64_t>(layer * n_tables_ + table);
            const Buckets outputs(hashes(layer + 1, salt, n_bits), strengths_[layer + 1], n_bits);
            const Buckets inputs(hashes(layer, salt, n_bits), strengths_[layer], n_bits);
            compare(layer, inputs, outputs, kept, 0, salt, tops);
            if (can_be_negative(layer)) compare(layer, inputs, outputs, kept, all_bits, salt, tops);
        }
    }
    std::vector<TopPairs*> parts;
    for (TopPairs& top : tops) parts.push_back(&top);
    return context_.tie_break(layer).flat_indices(TopPairs::best(parts));
}

std::vector<double> HashedPairs::measure(int stage) const {
    const int tile_size = context_.tile_size;
    std::vector<double> squares(plan_.n_live[stage], 0.0);
    for_each_neuron(
        workers_, plan_.n_live[stage], [] { return 0; },
        [&](int64_t j, int) {
            for (int64_t t = 0; t < sketch_.n_tiles(); t++) {
                const float* tile_row = sketch_.tile(t, stage) + j * tile_size;
                for (int s = 0; s < tile_size; s++)
                    squares[j] += static_cast<double>(tile_row[s]) * tile_row[s];
            }
        });
    return squares;
}

// The columns with random signs, then a Walsh-Hadamard transform: its numbers are random
// projections, and the signs of the first ones the hash. For lowest_cosine the hashes are random,
// so that any two neurons may be compared.
std::vector<uint32_t> HashedPairs::hashes(int stage, uint64_t salt, int n_bits) const {
    if (request_.metric == Metric::lowest_cosine) return random_hashes(stage, salt, n_bits);
    const int tile_size = context_.tile_size;
    const int64_t n_columns = sketch_.n_samples();
    int64_t size = 1;
    while (size < n_columns || size < n_bits) size *= 2;
    const CounterRandom numbers = request_.random.stream(Stream::hash_signs, salt);
    std::vector<float> sign(size, 0.0f);
    for (int64_t c = 0; c < n_columns; c++) sign[c] = numbers.at(c) & 1 ? 1.0f : -1.0f;
    std::vector<uint32_t> result(plan_.n_live[stage]);
    for_each_neuron(
        workers_, plan_.n_live[stage], [&] { return std::vector<float>(size); },
        [&](int64_t j, std::vector<float>& x) {
            std::fill(x.begin(), x.end(), 0.0f);
            for (int64_t t = 0; t < sketch_.n_tiles(); t++) {
                const float* tile_row = sketch_.tile(t, stage) + j * tile_size;
                for (int s = 0; s < tile_size; s++)
                    x[t * tile_size + s] = tile_row[s] * sign[t * tile_size + s];
            }
            walsh_hadamard_transform(x);
            uint32_t hash = 0;
            for (int bit = 0; bit < n_bits; bit++) hash |= uint32_t{x[bit] > 0.0f} << bit;
            result[j] = hash;
        });
    return result;
}

std::vector<uint32_t> HashedPairs::random_hashes(int stage, uint64_t salt, int n_bits) const {
    const CounterRandom numbers =
        request_.random.stream(Stream::random_hashes, kHashTables * stage + salt);
    std::vector<uint32_t> result(plan_.n_live[stage]);
    for (std::size_t j = 0; j < result.size(); j++)
        result[j] = numbers.at(static_cast<int64_t>(j)) & ((uint32_t{1} << n_bits) - 1);
    return result;
}

// Compares each input with some outputs of its hash, flipped where opposites are wanted. Inputs
// come in the order of their hashes: so the outputs that they meet are still in the cache.
void HashedPairs::compare(int layer, const Buckets& inputs, const Buckets& outputs,
                          const Kept& kept, uint32_t flip, uint64_t salt,
                          std::vector<TopPairs>& tops) {
    const std::vector<int32_t> neuron_in = neurons(layer), neuron_out = neurons(layer + 1);
    const CounterRandom start = request_.random.stream(Stream::bucket_starts, salt);
    const int64_t n_in = static_cast<int64_t>(inputs.tile_row.size());
    workers_.parallel_for(divide_up(n_in, kNeuronsPerTask), [&](int64_t task, int thread) {
        Met met;
        const int64_t end = std::min((task + 1) * kNeuronsPerTask, n_in);
        for (int64_t place = task * kNeuronsPerTask; place < end; place++) {
            const int32_t i = inputs.tile_row[place];
            const uint32_t hash = inputs.hash[place] ^ flip;
            const int64_t begin = outputs.start[hash], n = outputs.start[hash + 1] - begin;
            const int64_t from = n > n_meetings_ ? start.at(i) % n : 0;
            for (int64_t k = 0; k < std::min(n, n_meetings_); k++) {
                met.in.push_back(i);
                met.out.push_back(outputs.tile_row[begin + (from + k) % n]);
            }
        }
        offer(layer, met, kept, neuron_in, neuron_out, tops[thread]);
    });
}

void HashedPairs::offer(int layer, const Met& met, const Kept& kept,
                        const std::vector<int32_t>& neuron_in,
                        const std::vector<int32_t>& neuron_out, TopPairs& top) {
    const int64_t n = static_cast<int64_t>(met.in.size());
    std::vector<double> products(n, 0.0);
    multiply_adds_ += n * sketch_.n_samples();
    for (int64_t t = 0; t < sketch_.n_tiles(); t++)
        context_.kernels.pair_sums(context_.tile_size / 8, n, sketch_.tile(t, layer), met.in.data(),
                                   sketch_.tile(t, layer + 1), met.out.data(), nullptr,
                                   products.data());
    const TieBreak tie_break = context_.tie_break(layer);
    const Draw draw = context_.draw(layer);
    const double gate = gate_of(request_, layer, sketch_.n_samples());
    for (int64_t k = 0; k < n; k++) {
        const int32_t in = met.in[k], out = met.out[k];
        const double score = score_of(request_.metric, products[k], Strength(strengths_[layer][in]),
                                      Strength(strengths_[layer + 1][out]));
        if (score <= gate) continue;
        const int64_t index = neuron_out[out] * plan_.sizes[layer] + neuron_in[in];
        const uint32_t rank = request_.sharpness > 0 ? drawn_rank_of(draw(score, index, 0.0))
                                                     : rank_of(request_.metric, score);
        if (rank < top.lowest_rank()) continue;
        if (!kept.has(neuron_out[out], index)) top.offer(tie_break.ranked(rank, index));
    }
}

// The neuron of each tile row.
std::vector<int32_t> HashedPairs::neurons(int stage) const {
    std::vector<int32_t> neuron(plan_.n_live[stage]);
    for (int32_t j = 0; j < static_cast<int32_t>(plan_.tile_row[stage].size()); j++)
        if (plan_.tile_row[stage][j] >= 0) neuron[plan_.tile_row[stage][j]] = j;
    return neuron;
}

}  // namespace cofire
