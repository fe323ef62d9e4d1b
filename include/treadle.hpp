// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// treadle.hpp: Treadle for C++17, as headers alone over the C interface (treadle.h), and Itanium's C++ ABI
// (gcc or clang). Coroutines of C++20 can co_await a loop, and a call on one (await.hpp).
//
//   - Objects are reference-counted handles: Loop, Source, Descriptor, Timer, Observer, Port, Message, MessagePort,
//     Routine, Closure, Thread, Lock, Condition. Copying adds a reference, the destructor releases it. native() is the C handle.
//   - Callbacks are any callables: lambdas, functions, std::function, objects that can only be moved. They are
//     destroyed once, after their last call, on the thread that ends their use. Lambdas that capture
//     nothing or one pointer cost no memory. A callback gets its object as a const reference that lives until
//     it returns; a copy may be kept.
//   - A failed call throws treadle::Error: status, message, function. Functions that a signal handler may call,
//     and those that take std::nothrow, return a Status. Destructors never throw.
//   - It compiles with -fno-exceptions and -fno-rtti. Where a call would throw, the program ends then: the Error's text is
//     passed to the last-resort handler as "C++ error", and std::terminate is called, whatever the handler returns. For a
//     failure that is to be survived, call the function of C, by native(). The headers have another inline namespace then:
//     code of both kinds may be in one program, but not pass these types to each other.
//   - An exception that leaves a callback is passed to the last-resort handler (process.hpp); if that returns
//     false, the program ends by std::terminate. It never passes through Treadle (THR-19).
//   - Times are std::chrono's, in every unit, on the clock treadle::Clock. A duration that is too long means
//     for ever; none overflows.
//   - A plugin can be a class, and the exceptions of its methods are statuses: PluginBase.
//   - The tags [any], [owner] and [callback], the rules and "Since" are those of treadle.h.
#ifndef TREADLE_HPP
#define TREADLE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "treadle.hpp needs C++17"
#endif

#include "treadle/cpp/status.hpp"
#include "treadle/cpp/time.hpp"
#include "treadle/cpp/mode.hpp"
#include "treadle/cpp/object.hpp"
#include "treadle/cpp/loop.hpp"
#include "treadle/cpp/await.hpp"
#include "treadle/cpp/source.hpp"
#include "treadle/cpp/descriptor.hpp"
#include "treadle/cpp/timer.hpp"
#include "treadle/cpp/port.hpp"
#include "treadle/cpp/message_port.hpp"
#include "treadle/cpp/observer.hpp"
#include "treadle/cpp/routine.hpp"
#include "treadle/cpp/closure.hpp"
#include "treadle/cpp/thread.hpp"
#include "treadle/cpp/perform.hpp"
#include "treadle/cpp/lock.hpp"
#include "treadle/cpp/pool.hpp"
#include "treadle/cpp/notification.hpp"
#include "treadle/cpp/process.hpp"
#include "treadle/cpp/scope.hpp"
#include "treadle/cpp/plugin.hpp"

#endif
