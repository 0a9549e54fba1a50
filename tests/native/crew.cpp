// Many short crews of a few short phases, with pauses where they hurt: for tests/test_crew.py.
//
// Two mistakes are easy here, each a hang or a phase opened twice, once in millions of epochs:
// to take the end of the work for work, after a look at the phase before; and to ask how many
// lots a phase has when one's own is done, and the phase may be over.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

inline void pause_now_and_then() {
    thread_local uint32_t looks = 0;
    if (++looks % 4 == 0) std::this_thread::yield();
}
#define COFIRE_BEFORE_GRIP() pause_now_and_then()
#include "crew.hpp"

int main(int, char** arguments) {
    const int n_threads = std::atoi(arguments[1]);
    const long n_crews = std::atol(arguments[2]);
    for (long crew = 0; crew < n_crews; crew++) {
        const uint64_t n_tasks = 1 + crew % 3;
        uint64_t n_phases = 0;
        std::atomic<uint64_t> n_done{0};
        cofire::Crew::run(
            n_threads,
            [&](int64_t, int) { n_done.fetch_add(1, std::memory_order_relaxed); },
            [&]() -> uint64_t { return n_phases++ < 3 ? n_tasks : 0; },
            [] {});
        if (n_phases != 4 || n_done != 3 * n_tasks) {
            std::printf("crew %ld: %d phases, %d tasks\n", crew, int(n_phases), int(n_done));
            return 1;
        }
    }
}
