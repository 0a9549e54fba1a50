// How the processor rounds, and what it does with numbers below 1.2e-38.
//
// Both are settings of a thread that anybody may change: a library built with -ffast-math turns
// small numbers to 0 in whoever loads it. The same training must not depend on that.
#pragma once

#include <cfenv>

namespace cofire {

// From enter() to leave() the calling thread, and those it starts, calculate by the standard:
// to the nearest, and nothing is cut off. Then it is as it was before.
class StandardFloats {
public:
    void enter() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    void leave() { std::fesetenv(&before_); }

private:
    std::fenv_t before_{};
};

}  // namespace cofire
