#include "training/rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace cofire {

void Rows::gather(const Kernels& kernels, const TileSamples& samples, const int64_t* next_ids,
                  const int32_t* tile_row, float* tile) const {
    const int n8 = samples.n8();
    const int64_t stride = samples.n_columns();
    if (kind == Kind::sparse) {
        for (int64_t s = 0; s < stride; s++) {
            const int64_t id = samples.id(s);
            for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
                const int32_t row = tile_row[indices[k]];
                if (row >= 0) tile[row * stride + s] += values[k];
            }
        }
        return;
    }
    if (kind == Kind::tiles) {
        const int64_t* ids = samples.ids;
        const int64_t first = ids[0] % kMaxTile;
        bool together = first + stride <= kMaxTile && samples.n == stride && first % 8 == 0;
        for (int s = 1; s < samples.n && together; s++) together = ids[s] == ids[0] + s;
        const auto tile_of = [&](int64_t id) {
            return tiles + id / kMaxTile * n_features * kMaxTile + id % kMaxTile;
        };
        if (together) {
            const uint16_t* next = tile_of(next_ids == nullptr ? ids[0] : next_ids[0]);
            kernels.gather_tile(n8, n_features, tile_of(ids[0]), next, step, zero, tile_row, tile);
            return;
        }
        for (int64_t s = 0; s < stride; s++)
            for (int64_t f = 0; f < n_features; f++)
                if (tile_row[f] >= 0) tile[tile_row[f] * stride + s] = tile_value(samples.id(s), f);
        return;
    }
    if (kind == Kind::bytes) {
        const uint8_t* pointers[kMaxTile];
        for (int64_t s = 0; s < stride; s++) pointers[s] = bytes + samples.id(s) * n_features;
        kernels.gather_bytes(n8, n_features, pointers, scale, offset, tile_row, tile);
        return;
    }
    const float* pointers[kMaxTile];
    const float* next[8];
    for (int64_t s = 0; s < stride; s++) pointers[s] = floats + samples.id(s) * n_features;
    for (int s = 0; s < 8; s++)
        next[s] = next_ids == nullptr ? pointers[s] : floats + next_ids[s] * n_features;
    kernels.gather_floats(n8, n_features, pointers, next, tile_row, tile);
}

float Rows::tile_value(int64_t id, int64_t f) const {
    const int64_t at = (id / kMaxTile * n_features + f) * kMaxTile + id % kMaxTile;
    return step[f] * static_cast<float>(tiles[at] - zero[f]);
}

// The numbers of a feature reach from its smallest value to its largest, and 0 is among them. Steps
// are powers of 2: what is 0 stays 0, and whole numbers stay what they are.
void Rows::copy_to_tiles(const Kernels& kernels, const int64_t* ids, int64_t n, uint16_t* to_tiles,
                         float* to_step, int32_t* to_zero) const {
    constexpr double kMost = 65535.0;
    std::vector<int32_t> tile_row(n_features);
    std::iota(tile_row.begin(), tile_row.end(), 0);
    std::vector<float> tile(n_features * kMaxTile, 0.0f);
    const auto each_tile = [&](auto use) {
        for (int64_t first = 0; first < n; first += kMaxTile) {
            const TileSamples samples{ids + first,
                                      static_cast<int>(std::min<int64_t>(kMaxTile, n - first))};
            const int64_t* next = first + 2 * kMaxTile <= n ? ids + first + kMaxTile : nullptr;
            gather(kernels, samples, next, tile_row.data(), tile.data());
            use(first / kMaxTile, samples.n_columns());
            clear(samples, tile_row.data(), tile.data());
        }
    };
    std::vector<float> low(n_features, 0.0f), high(n_features, 0.0f), per_step(n_features);
    each_tile([&](int64_t, int64_t stride) {
        for (int64_t f = 0; f < n_features; f++) {
            float lows[8], highs[8];  // side by side
            std::fill_n(lows, 8, low[f]);
            std::fill_n(highs, 8, high[f]);
            for (int64_t s = 0; s < stride; s += 8)
                for (int c = 0; c < 8; c++) {
                    const float x = tile[f * stride + s + c];
                    lows[c] = x < lows[c] ? x : lows[c];
                    highs[c] = x > highs[c] ? x : highs[c];
                }
            low[f] = *std::min_element(lows, lows + 8);
            high[f] = *std::max_element(highs, highs + 8);
        }
    });
    for (int64_t f = 0; f < n_features; f++) {
        const double range = static_cast<double>(high[f]) - low[f];
        int exponent = 0;
        std::frexp(range / kMost, &exponent);  // range / kMost < 2^exponent
        exponent = std::clamp(exponent, -120, 120);
        to_step[f] = std::ldexp(1.0f, exponent);
        per_step[f] = std::ldexp(1.0f, -exponent);
        to_zero[f] = static_cast<int32_t>(-low[f] * static_cast<double>(per_step[f]) + 0.5);
    }
    each_tile([&](int64_t t, int64_t stride) {
        for (int64_t f = 0; f < n_features; f++) {
            uint16_t* to = to_tiles + (t * n_features + f) * kMaxTile;
            const float factor = per_step[f], half_up = static_cast<float>(to_zero[f]) + 0.5f;
            for (int64_t s = 0; s < stride; s++) {
                float q = tile[f * stride + s] * factor + half_up;
                q = q < 65535.0f ? q : 65535.0f;
                to[s] = static_cast<uint16_t>(static_cast<int32_t>(q > 0.0f ? q : 0.0f));
            }
            std::fill(to + stride, to + kMaxTile, static_cast<uint16_t>(to_zero[f]));
        }
    });
}

void Rows::clear(const TileSamples& samples, const int32_t* tile_row, float* tile) const {
    if (kind != Kind::sparse) return;
    const int64_t stride = samples.n_columns();
    for (int64_t s = 0; s < stride; s++) {
        const int64_t id = samples.id(s);
        for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
            const int32_t row = tile_row[indices[k]];
            if (row >= 0) tile[row * stride + s] = 0.0f;
        }
    }
}

namespace {

// 1 where a feature of row id is not 0, for the dense kinds of rows.
void mark_features(const Rows& rows, int64_t id, int32_t* mark) {
    if (rows.kind == Rows::Kind::floats) {
        const float* x = rows.floats + id * rows.n_features;
        for (int64_t f = 0; f < rows.n_features; f++) mark[f] = x[f] != 0.0f;
    } else if (rows.kind == Rows::Kind::tiles) {
        for (int64_t f = 0; f < rows.n_features; f++) mark[f] = rows.tile_value(id, f) != 0.0f;
    } else {
        const uint8_t* x = rows.bytes + id * rows.n_features;
        for (int64_t f = 0; f < rows.n_features; f++)
            mark[f] = rows.scale[f] * x[f] + rows.offset[f] != 0.0f;
    }
}

}  // namespace

void Rows::rarity(const int64_t* ids, int64_t n, int64_t* rarity) const {
    std::vector<int32_t> count(n_features, 0), mark(n_features);
    const int32_t most = static_cast<int32_t>(std::min<int64_t>(n, INT32_MAX));
    const auto each = [&](int64_t k, auto sparse_feature, auto dense_row) {
        if (kind == Kind::sparse) {
            for (int64_t e = indptr[ids[k]]; e < indptr[ids[k] + 1]; e++)
                if (values[e] != 0.0f) sparse_feature(indices[e]);
        } else {
            mark_features(*this, ids[k], mark.data());
            dense_row();
        }
    };
    for (int64_t k = 0; k < n; k++)
        each(
            k, [&](int32_t f) { count[f]++; },
            [&] {
                for (int64_t f = 0; f < n_features; f++) count[f] += mark[f];
            });
    for (int64_t k = 0; k < n; k++) {
        int32_t least = most;
        each(
            k, [&](int32_t f) { least = std::min(least, count[f]); },
            [&] {
                for (int64_t f = 0; f < n_features; f++)
                    least = std::min(least, mark[f] ? count[f] : most);
            });
        rarity[k] = least;
    }
}

}  // namespace cofire
