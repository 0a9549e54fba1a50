// Looks out for Ctrl-C while native code works.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace cofire {

// Asks only ten times a second, for the answer needs the interpreter's lock; and after a yes not
// again, for then an exception waits in the interpreter.
class InterruptPoll {
public:
    InterruptPoll(const std::function<bool()>& ask, std::atomic<bool>& stop)
        : ask_(ask), stop_(stop) {}
    void operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (stop_ || now - asked_ < std::chrono::milliseconds(100)) return;
        asked_ = now;
        if (ask_()) stop_ = true;
    }

private:
    const std::function<bool()>& ask_;
    std::atomic<bool>& stop_;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace cofire
