#include "rows.hpp"

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

}  // namespace cofire
