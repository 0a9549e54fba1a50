// Vectors of a fixed number of lanes, through the compiler's vector extensions.
//
// This header is compiled once per SIMD level (kernels.cpp). Everything in it has internal
// linkage: a shared inline function would be merged by the linker, and code compiled for
// AVX-512 would run on a machine without it. For the same reason it uses no std:: templates.
#pragma once

#include <cstdint>
#include <cstring>

#define COFIRE_INLINE static inline __attribute__((always_inline))

namespace {

typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef int32_t i16 __attribute__((vector_size(64)));
// The same in memory, at any address.
typedef float f8_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f16_in_memory __attribute__((vector_size(64), aligned(4), may_alias));

COFIRE_INLINE f16 load16(const float* p) { return *(const f16_in_memory*)p; }
COFIRE_INLINE f8 load8(const float* p) { return *(const f8_in_memory*)p; }
COFIRE_INLINE void store(float* p, f16 v) { *(f16_in_memory*)p = v; }
COFIRE_INLINE void store(float* p, f8 v) { *(f8_in_memory*)p = v; }
COFIRE_INLINE f16 splat16(float x) { return x - f16{}; }
COFIRE_INLINE f8 splat8(float x) { return x - f8{}; }

COFIRE_INLINE f8 low_half(f16 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
COFIRE_INLINE f8 high_half(f16 v) {
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
COFIRE_INLINE f8 halves(f16 v) { return low_half(v) + high_half(v); }

// A fixed tree, so that the sum does not depend on the SIMD level's habits.
COFIRE_INLINE float sum(f8 v) {
    const auto q =
        __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return (q[0] + q[2]) + (q[1] + q[3]);
}
COFIRE_INLINE float sum(f16 v) { return sum(halves(v)); }

template <class F> struct IntOf;
template <> struct IntOf<f8> { typedef i8 type; };
template <> struct IntOf<f16> { typedef i16 type; };

template <class F> COFIRE_INLINE F splat(float x) { return x - F{}; }
// A comparison with NaN is false: the second value, the NaN-carrying one, stays visible.
template <class F> COFIRE_INLINE F at_least(F low, F x) { return x < low ? low : x; }
template <class F> COFIRE_INLINE F at_most(F high, F x) { return x > high ? high : x; }
template <class F> COFIRE_INLINE F magnitude(F x) {
    typedef typename IntOf<F>::type I;
    return (F)((I)x & 0x7fffffff);
}

// exp(x): x = n ln 2 + r, |r| <= ln 2 / 2, then a polynomial of degree 6 in r (the Taylor
// coefficients; the remainder is below 1.3e-7 relative) and n added to the exponent.
template <class F> COFIRE_INLINE F exponential(F x) {
    typedef typename IntOf<F>::type I;
    x = at_most(splat<F>(88.0f), at_least(splat<F>(-87.0f), x));
    const F magic = splat<F>(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const F shifted = x * 1.44269504f + magic;
    const F n = shifted - magic;
    const F r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    F p = r * (1.0f / 720) + (1.0f / 120);
    p = p * r + (1.0f / 24);
    p = p * r + (1.0f / 6);
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * (F)(((I)shifted + 127) << 23);
}

// tanh: an odd polynomial near 0 (no cancellation), 1 - 2 / (exp(2x) + 1) elsewhere.
template <class F> COFIRE_INLINE F hyperbolic_tangent(F x) {
    typedef typename IntOf<F>::type I;
    const F a = magnitude(x);
    const F s = x * x;
    F p = s * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * s + -5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s + -3.33332819422e-1f;
    const F near = p * s * x + x;
    const F far_size = 1.0f - 2.0f / (exponential(a + a) + 1.0f);
    const F far = (F)((I)far_size | ((I)x & (int32_t)0x80000000));
    return a < 0.625f ? near : far;
}

// 8 x 8 transpose: rows r[0..7] become columns.
COFIRE_INLINE void transpose8(f8 r[8]) {
    f8 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    f8 u[8];
    for (int i = 0; i < 8; i += 4) {
        u[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        u[i + 2] = __builtin_shufflevector(t[i + 1], t[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 3] = __builtin_shufflevector(t[i + 1], t[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// A tile's row: N8 * 8 samples, as N8 / 2 wide vectors and, for an odd N8, one narrow one.
template <int N8> struct Row {
    static constexpr int wide = N8 / 2;
    static constexpr bool narrow = N8 % 2;
    static constexpr int lanes = N8 * 8;
    f16 w[wide > 0 ? wide : 1];
    f8 n;

    COFIRE_INLINE Row filled(float x) {
        Row r;
        for (int v = 0; v < wide; v++) r.w[v] = splat16(x);
        if constexpr (narrow) r.n = splat8(x);
        return r;
    }
    COFIRE_INLINE Row at(const float* p) {
        Row r;
        for (int v = 0; v < wide; v++) r.w[v] = load16(p + 16 * v);
        if constexpr (narrow) r.n = load8(p + 16 * wide);
        return r;
    }
    inline __attribute__((always_inline)) void put(float* p) const {
        for (int v = 0; v < wide; v++) store(p + 16 * v, w[v]);
        if constexpr (narrow) store(p + 16 * wide, n);
    }
    inline __attribute__((always_inline)) void add(float a, const Row& x) {
        for (int v = 0; v < wide; v++) w[v] += a * x.w[v];
        if constexpr (narrow) n += a * x.n;
    }
    template <class Fn> inline __attribute__((always_inline)) void apply(Fn fn) {
        for (int v = 0; v < wide; v++) w[v] = fn(w[v]);
        if constexpr (narrow) n = fn(n);
    }
    template <class Fn> inline __attribute__((always_inline)) void apply(const Row& o, Fn fn) {
        for (int v = 0; v < wide; v++) w[v] = fn(w[v], o.w[v]);
        if constexpr (narrow) n = fn(n, o.n);
    }
    inline __attribute__((always_inline)) float total() const {
        if constexpr (wide == 0) return sum(n);
        f16 s = w[0];
        for (int v = 1; v < wide; v++) s += w[v];
        f8 h = halves(s);
        if constexpr (narrow) h += n;
        return sum(h);
    }
};

// sum over the samples of a * b, folded to 8 lanes: the caller finishes the sum.
template <int N8> COFIRE_INLINE f8 dot8(const Row<N8>& a, const Row<N8>& b) {
    constexpr int wide = Row<N8>::wide;
    f8 h = {};
    if constexpr (wide > 0) {
        f16 s = a.w[0] * b.w[0];
        for (int v = 1; v < wide; v++) s += a.w[v] * b.w[v];
        h = halves(s);
    }
    if constexpr (Row<N8>::narrow) h += a.n * b.n;
    return h;
}

}  // namespace
