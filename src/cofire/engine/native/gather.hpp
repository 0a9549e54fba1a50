// A batch's rows into a tile, turned from sample-major to neuron-major. Compiled once per SIMD level as a part of
// kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include "kernels.hpp"
#include "vectors.hpp"

namespace cofire {
namespace {

COFIRE_INLINE void put_block(f8 block[8], const int32_t* destination, int count, int64_t stride,
                             float* tile) {
    transpose8(block);
    for (int i = 0; i < count; i++)
        if (destination[i] >= 0) store(tile + destination[i] * stride, block[i]);
}

void gather_floats(int n8, int64_t n_features, const float* const* rows,
                   const float* const* next_rows, const int32_t* destination, float* tile) {
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const float* const* r = rows + 8 * strip;
        const float* const* ahead = strip + 1 < n8 ? r + 8 : next_rows;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + 16 <= n_features; f += 16) {
            for (int s = 0; s < 8; s++) __builtin_prefetch(ahead[s] + f + 16, 0, 2);
            for (int half = 0; half < 16; half += 8) {
                f8 block[8];
                for (int s = 0; s < 8; s++) block[s] = load8(r[s] + f + half);
                put_block(block, destination + f + half, 8, stride, out);
            }
        }
        for (; f < n_features; f++)
            if (destination[f] >= 0)
                for (int s = 0; s < 8; s++) out[destination[f] * stride + s] = r[s][f];
    }
}

void gather_bytes(int n8, int64_t n_features, const uint8_t* const* rows, const float* scale,
                  const float* offset, const int32_t* destination, float* tile) {
    typedef uint8_t u8x8 __attribute__((vector_size(8), aligned(1), may_alias));
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const uint8_t* const* r = rows + 8 * strip;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + 8 <= n_features; f += 8) {
            const f8 a = load8(scale + f), b = load8(offset + f);
            f8 block[8];
            for (int s = 0; s < 8; s++)
                block[s] = __builtin_convertvector(*(const u8x8*)(r[s] + f), f8) * a + b;
            put_block(block, destination + f, 8, stride, out);
        }
        for (; f < n_features; f++)
            if (destination[f] >= 0)
                for (int s = 0; s < 8; s++)
                    out[destination[f] * stride + s] = r[s][f] * scale[f] + offset[f];
    }
}

}  // namespace
}  // namespace cofire
