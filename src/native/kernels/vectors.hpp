// Vectors of a fixed number of lanes, through the compiler's vector extensions.
//
// This header is compiled once per SIMD level (kernels.cpp). Everything in it has internal
// linkage: a shared inline function would be merged by the linker, and code compiled for
// AVX-512 would run on a machine without it. For the same reason it uses no std:: templates.
#pragma once

#include <cstdint>
#include <cstring>

#define COFIRE_METHOD inline __attribute__((always_inline))
#define COFIRE_INLINE static COFIRE_METHOD

namespace {

typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef int32_t i4 __attribute__((vector_size(16)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef int32_t i16 __attribute__((vector_size(64)));

// COFIRE_PICK(a, b, lanes...): a vector of these lanes of a and, counted on, of b.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
template <class T, int N> struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <int... Lanes, class V> COFIRE_INLINE auto pick(V a, V b) {
    constexpr int n = sizeof(V) / sizeof(a[0]);
    typedef typename VectorOf<__typeof__(+a[0]), sizeof...(Lanes)>::type Out;
    return Out{(Lanes < n ? a[Lanes % n] : b[Lanes % n])...};
}
#define COFIRE_PICK(a, b, ...) pick<__VA_ARGS__>(a, b)
#else
#define COFIRE_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif

// Wide: the machine's widest vector. Block: what sums and transposes work on. A vector wider
// than the machine's would be moved through memory lane by lane.
#if defined(__AVX512F__)
typedef f16 Wide;
typedef f8 Block;
#elif defined(__AVX2__)
typedef f8 Wide;
typedef f8 Block;
#else
typedef f4 Wide;
typedef f4 Block;
#endif
COFIRE_INLINE Block to_block(Block v) { return v; }
#if defined(__AVX512F__)
COFIRE_INLINE Block to_block(Wide v) {
    return COFIRE_PICK(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
           COFIRE_PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif
constexpr int kWide = sizeof(Wide) / sizeof(float);
constexpr int kBlock = sizeof(Block) / sizeof(float);

template <class F> struct Related;
template <> struct Related<float> {
    typedef float InMemory __attribute__((may_alias));
};
template <> struct Related<f4> {
    typedef i4 Int;
    typedef float InMemory __attribute__((vector_size(16), aligned(4), may_alias));
};
template <> struct Related<f8> {
    typedef i8 Int;
    typedef float InMemory __attribute__((vector_size(32), aligned(4), may_alias));
};
template <> struct Related<f16> {
    typedef i16 Int;
    typedef float InMemory __attribute__((vector_size(64), aligned(4), may_alias));
};

// Loads and stores at any address.
template <class F> COFIRE_INLINE F load(const float* p) {
    return *(const typename Related<F>::InMemory*)p;
}
template <class F> COFIRE_INLINE void store(float* p, F v) {
    *(typename Related<F>::InMemory*)p = v;
}
template <class F> COFIRE_INLINE F splat(float x) { return x - F{}; }

// ---- sums over the lanes ----------------------------------------------------------------------

COFIRE_INLINE f4 to_four(f4 v) { return v; }
COFIRE_INLINE f4 to_four(f8 v) {
    return COFIRE_PICK(v, v, 0, 1, 2, 3) + COFIRE_PICK(v, v, 4, 5, 6, 7);
}
COFIRE_INLINE f4 to_four(f16 v) {
    return to_four(COFIRE_PICK(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                   COFIRE_PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}
template <class F> COFIRE_INLINE float sum(F v) {
    const f4 q = to_four(v);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

COFIRE_INLINE f4 add_neighbours(f4 a, f4 b) {
    return COFIRE_PICK(a, b, 0, 4, 2, 6) + COFIRE_PICK(a, b, 1, 5, 3, 7);
}
COFIRE_INLINE f8 add_neighbours(f8 a, f8 b) {
    return COFIRE_PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
           COFIRE_PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}
COFIRE_INLINE f16 add_neighbours(f16 a, f16 b) {
    return COFIRE_PICK(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30) +
           COFIRE_PICK(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
}

COFIRE_INLINE f4 add_twos(f4 a, f4 b) {
    return COFIRE_PICK(a, b, 0, 1, 4, 5) + COFIRE_PICK(a, b, 2, 3, 6, 7);
}
COFIRE_INLINE f8 add_twos(f8 a, f8 b) {
    return COFIRE_PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
           COFIRE_PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
COFIRE_INLINE f16 add_twos(f16 a, f16 b) {
    return COFIRE_PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
           COFIRE_PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}

// As many sums at once as a block has lanes: a tree of shuffles costs a third of separate sums.
COFIRE_INLINE f4 sum_each(const f4 p[4]) {
    return add_twos(add_neighbours(p[0], p[1]), add_neighbours(p[2], p[3]));
}
COFIRE_INLINE f8 sum_each(const f8 p[8]) {
    const f8 a = add_twos(add_neighbours(p[0], p[1]), add_neighbours(p[2], p[3]));
    const f8 b = add_twos(add_neighbours(p[4], p[5]), add_neighbours(p[6], p[7]));
    return COFIRE_PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
           COFIRE_PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

// Whether any lane is not zero; -0 is zero.
COFIRE_INLINE bool any_bits(i4 v) {
    uint64_t q[2];
    v &= 0x7fffffff;
    memcpy(q, &v, sizeof q);
    return (q[0] | q[1]) != 0;
}
COFIRE_INLINE bool any_bits(i8 v) {
    return any_bits(COFIRE_PICK(v, v, 0, 1, 2, 3) | COFIRE_PICK(v, v, 4, 5, 6, 7));
}
COFIRE_INLINE bool any_bits(i16 v) {
    return any_bits(COFIRE_PICK(v, v, 0, 1, 2, 3, 4, 5, 6, 7) |
                    COFIRE_PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
}

// ---- functions --------------------------------------------------------------------------------

// A comparison with NaN is false: the second value, the NaN-carrying one, stays visible.
template <class F> COFIRE_INLINE F at_least(F low, F x) { return x < low ? low : x; }
template <class F> COFIRE_INLINE F at_most(F high, F x) { return x > high ? high : x; }
template <class F> COFIRE_INLINE F magnitude(F x) {
    return (F)((typename Related<F>::Int)x & 0x7fffffff);
}

// exp(x): x = n ln 2 + r, |r| <= ln 2 / 2, then a polynomial of degree 6 in r (the Taylor
// coefficients; the remainder is below 1.3e-7 relative) and n added to the exponent.
template <class F> COFIRE_INLINE F exponential(F x) {
    typedef typename Related<F>::Int I;
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
    typedef typename Related<F>::Int I;
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

// ---- transposes: rows become columns ------------------------------------------------------------

COFIRE_INLINE void transpose(f4 r[4]) {
    const f4 a = COFIRE_PICK(r[0], r[1], 0, 4, 1, 5);
    const f4 b = COFIRE_PICK(r[0], r[1], 2, 6, 3, 7);
    const f4 c = COFIRE_PICK(r[2], r[3], 0, 4, 1, 5);
    const f4 d = COFIRE_PICK(r[2], r[3], 2, 6, 3, 7);
    r[0] = COFIRE_PICK(a, c, 0, 1, 4, 5);
    r[1] = COFIRE_PICK(a, c, 2, 3, 6, 7);
    r[2] = COFIRE_PICK(b, d, 0, 1, 4, 5);
    r[3] = COFIRE_PICK(b, d, 2, 3, 6, 7);
}
COFIRE_INLINE void transpose(f8 r[8]) {
    f8 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = COFIRE_PICK(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = COFIRE_PICK(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    f8 u[8];
    for (int i = 0; i < 8; i += 4) {
        u[i] = COFIRE_PICK(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 1] = COFIRE_PICK(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        u[i + 2] = COFIRE_PICK(t[i + 1], t[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        u[i + 3] = COFIRE_PICK(t[i + 1], t[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = COFIRE_PICK(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = COFIRE_PICK(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// A tile's row: N8 * 8 samples, as wide vectors and, where these do not divide it, one of eight.
template <int N8> struct TileRow {
    static constexpr int n_wide = N8 * 8 / kWide;
    static constexpr bool has_rest = N8 * 8 % kWide != 0;
    Wide wide[n_wide > 0 ? n_wide : 1];
    f8 rest;

    COFIRE_INLINE TileRow filled(float x) {
        TileRow r;
        for (int v = 0; v < n_wide; v++) r.wide[v] = splat<Wide>(x);
        if constexpr (has_rest) r.rest = splat<f8>(x);
        return r;
    }
    COFIRE_INLINE TileRow at(const float* p) {
        TileRow r;
        for (int v = 0; v < n_wide; v++) r.wide[v] = load<Wide>(p + kWide * v);
        if constexpr (has_rest) r.rest = load<f8>(p + kWide * n_wide);
        return r;
    }
    COFIRE_METHOD void put(float* p) const {
        for (int v = 0; v < n_wide; v++) store(p + kWide * v, wide[v]);
        if constexpr (has_rest) store(p + kWide * n_wide, rest);
    }
    COFIRE_METHOD void add(float a, const TileRow& x) {
        for (int v = 0; v < n_wide; v++) wide[v] += a * x.wide[v];
        if constexpr (has_rest) rest += a * x.rest;
    }
    template <class Fn> COFIRE_METHOD void apply(Fn fn) {
        for (int v = 0; v < n_wide; v++) wide[v] = fn(wide[v]);
        if constexpr (has_rest) rest = fn(rest);
    }
    template <class Fn> COFIRE_METHOD void apply(const TileRow& o, Fn fn) {
        for (int v = 0; v < n_wide; v++) wide[v] = fn(wide[v], o.wide[v]);
        if constexpr (has_rest) rest = fn(rest, o.rest);
    }
    COFIRE_METHOD bool is_zero() const {
        typedef typename Related<Wide>::Int I;
        bool any = false;
        if constexpr (n_wide > 0) {
            I bits = (I)wide[0];
            for (int v = 1; v < n_wide; v++) bits |= (I)wide[v];
            any = any_bits(bits);
        }
        if constexpr (has_rest) any = any || any_bits((i8)rest);
        return !any;
    }
};

// The sum over the samples of a * b, or of a, as a block: the caller sums its lanes.
template <int N8> COFIRE_INLINE Block dot(const TileRow<N8>& a, const TileRow<N8>& b) {
    Block total = {};
    if constexpr (TileRow<N8>::n_wide > 0) {
        Wide s = a.wide[0] * b.wide[0];
        for (int v = 1; v < TileRow<N8>::n_wide; v++) s += a.wide[v] * b.wide[v];
        total = to_block(s);
    }
    if constexpr (TileRow<N8>::has_rest) total += to_block(a.rest * b.rest);
    return total;
}
template <int N8> COFIRE_INLINE float total(const TileRow<N8>& a) {
    Block all = {};
    if constexpr (TileRow<N8>::n_wide > 0) {
        Wide s = a.wide[0];
        for (int v = 1; v < TileRow<N8>::n_wide; v++) s += a.wide[v];
        all = to_block(s);
    }
    if constexpr (TileRow<N8>::has_rest) all += to_block(a.rest);
    return sum(all);
}

// ---- from run-time numbers to compiled ones -------------------------------------------------

template <int N> struct Constant {
    static constexpr int value = N;
};

// Calls body(Constant<n>) for the n in 1 … 8 that is known only now.
template <class Body> COFIRE_INLINE void with_constant(int n, Body body) {
    switch (n) {
        case 1: return body(Constant<1>{});
        case 2: return body(Constant<2>{});
        case 3: return body(Constant<3>{});
        case 4: return body(Constant<4>{});
        case 5: return body(Constant<5>{});
        case 6: return body(Constant<6>{});
        case 7: return body(Constant<7>{});
        default: return body(Constant<8>{});
    }
}

}  // namespace
