// A batch's rows into a tile: turned from sample-major to neuron-major. Compiled once per SIMD
// level as a part of kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

COFIRE_INLINE void put_block(Block block[kBlock], const int32_t* tile_row, int64_t stride,
                             float* tile) {
    transpose(block);
    for (int i = 0; i < kBlock; i++)
        if (tile_row[i] >= 0) store(tile + tile_row[i] * stride, block[i]);
}

void gather_floats(int n8, int64_t n_features, const float* const* rows,
                   const float* const* next_rows, const int32_t* tile_row, float* tile) {
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const float* const* r = rows + 8 * strip;
        const float* const* ahead = strip + 1 < n8 ? r + 8 : next_rows;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + 16 <= n_features; f += 16) {
            for (int s = 0; s < 8; s++) __builtin_prefetch(ahead[s] + f + 16, 0, 2);
            for (int part = 0; part < 16; part += kBlock)
                for (int s0 = 0; s0 < 8; s0 += kBlock) {
                    Block block[kBlock];
                    for (int s = 0; s < kBlock; s++) block[s] = load<Block>(r[s0 + s] + f + part);
                    put_block(block, tile_row + f + part, stride, out + s0);
                }
        }
        for (; f < n_features; f++)
            if (tile_row[f] >= 0)
                for (int s = 0; s < 8; s++) out[tile_row[f] * stride + s] = r[s][f];
    }
}

void gather_bytes(int n8, int64_t n_features, const uint8_t* const* rows, const float* scale,
                  const float* offset, const int32_t* tile_row, float* tile) {
    typedef uint8_t Bytes __attribute__((vector_size(kBlock), aligned(1), may_alias));
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const uint8_t* const* r = rows + 8 * strip;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + kBlock <= n_features; f += kBlock) {
            const Block a = load<Block>(scale + f), b = load<Block>(offset + f);
            for (int s0 = 0; s0 < 8; s0 += kBlock) {
                Block block[kBlock];
                for (int s = 0; s < kBlock; s++)
                    block[s] =
                        __builtin_convertvector(*(const Bytes*)(r[s0 + s] + f), Block) * a + b;
                put_block(block, tile_row + f, stride, out + s0);
            }
        }
        for (; f < n_features; f++)
            if (tile_row[f] >= 0)
                for (int s = 0; s < 8; s++)
                    out[tile_row[f] * stride + s] = r[s][f] * scale[f] + offset[f];
    }
}

template <int N8>
void gather_tile_by(int64_t n_features, const uint16_t* from, const uint16_t* next,
                    const float* step, const int32_t* zero, const int32_t* tile_row, float* tile) {
    typedef uint16_t Halves __attribute__((vector_size(2 * kBlock), aligned(2), may_alias));
    typedef typename Related<Block>::Int Whole;
    for (int64_t f = 0; f < n_features; f++) {
        if (tile_row[f] < 0) continue;
        const uint16_t* numbers = from + f * kMaxTile;
        float* to = tile + tile_row[f] * (N8 * 8);
        for (int s = 0; s < N8 * 8; s += 32) __builtin_prefetch(next + f * kMaxTile + s, 0, 2);
#pragma GCC unroll 16
        for (int s = 0; s < N8 * 8; s += kBlock) {
            const Whole q = __builtin_convertvector(*(const Halves*)(numbers + s), Whole) - zero[f];
            store(to + s, __builtin_convertvector(q, Block) * step[f]);
        }
    }
}

// One multiplication per value, and still any two values of a sample are dropped independently of
// each other, because both factor and summand are random per sample (multiply-shift hashing).
void drop_values(int n8, int64_t n_tile_rows, const uint32_t* key, const uint32_t* factor,
                 const uint32_t* summand, int32_t limit, float scale, float* tile) {
    typedef typename Related<Block>::Int Whole;
    typedef uint32_t Numbers __attribute__((vector_size(sizeof(Block)), aligned(4), may_alias));
    const int64_t stride = n8 * 8;
    for (int64_t j = 0; j < n_tile_rows; j++)
        for (int64_t s = 0; s < stride; s += kBlock) {
            float* x = tile + j * stride + s;
            const Numbers number =
                *(const Numbers*)(factor + s) * key[j] + *(const Numbers*)(summand + s);
            store(x, (Whole)number < limit ? Block{} : load<Block>(x) * scale);
        }
}

}  // namespace
}  // namespace cofire
