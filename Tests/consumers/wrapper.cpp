// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What every consumer of the C++ wrapper builds: the same as main.cpp, with treadle.hpp.
#include <iostream>
#include <treadle.hpp>

int main() {
    using namespace std::chrono_literals;
    const treadle::Loop loop = treadle::Loop::current();
    int fired = 0, performed = 0;
    const treadle::Source source([&] {
        if (++performed == 3) loop.stop();
    });
    const treadle::Timer ticker = treadle::Timer::every(1ms, [&] {
        fired++;
        source.signal_and_wake();
    });
    loop.add(source);
    loop.add(ticker);
    const treadle::RunResult result = loop.run();
    ticker.invalidate();
    source.invalidate();
    std::cout << "treadle " << treadle::version() << ": performed " << performed << ", stopped "
              << (result == treadle::RunResult::stopped && fired >= 3) << "\n";
}
