#include "rows.hpp"

#include <algorithm>
#include <vector>

namespace cofire {

void Rows::gather(const Kernels& kernels, const int64_t* ids, int n, int n8,
                  const int64_t* next_ids, const int32_t* destination, float* tile) const {
    if (kind == Kind::sparse) {
        const int64_t stride = n8 * 8;
        for (int s = 0; s < stride; s++) {
            const int64_t id = ids[s < n ? s : 0];
            for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
                const int32_t row = destination[indices[k]];
                if (row >= 0) tile[row * stride + s] += values[k];
            }
        }
        return;
    }
    if (kind == Kind::bytes) {
        const uint8_t* pointers[kMaxTile];
        for (int s = 0; s < n8 * 8; s++) pointers[s] = bytes + ids[s < n ? s : 0] * n_features;
        kernels.gather_bytes(n8, n_features, pointers, scale, offset, destination, tile);
        return;
    }
    const float* pointers[kMaxTile];
    const float* next[8];
    for (int s = 0; s < n8 * 8; s++) pointers[s] = floats + ids[s < n ? s : 0] * n_features;
    for (int s = 0; s < 8; s++)
        next[s] = next_ids == nullptr ? pointers[s] : floats + next_ids[s] * n_features;
    kernels.gather_floats(n8, n_features, pointers, next, destination, tile);
}

void Rows::clear(const int64_t* ids, int n, int n8, const int32_t* destination, float* tile) const {
    if (kind != Kind::sparse) return;
    const int64_t stride = n8 * 8;
    for (int s = 0; s < stride; s++) {
        const int64_t id = ids[s < n ? s : 0];
        for (int64_t k = indptr[id]; k < indptr[id + 1]; k++) {
            const int32_t row = destination[indices[k]];
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
