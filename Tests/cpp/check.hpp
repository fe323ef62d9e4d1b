// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// check.hpp: what a C++ test needs and no more: the same as Tests/c/check.h, in C++'s words.
//
//     TEST(stop_wakes_a_sleeping_loop, "STOP-2 STOP-7") { ... CHECK(x == y); ... }
//
// The string names the rules that the test proves; scripts/rules reads it. Each test runs in a process of its
// own under a watchdog: a test waits for events, and only a broken one ever meets it.
// Usage: program [-n TIMES] [NAME-PART]; TREADLE_TEST_SECONDS sets the watchdog (120).
#ifndef TREADLE_TEST_CHECK_HPP
#define TREADLE_TEST_CHECK_HPP

#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <treadle.hpp>

using namespace std::chrono_literals;

struct Test {
    const char *name, *rules;
    void (*run)();
};
inline std::vector<Test> &tests() {
    static std::vector<Test> all;
    return all;
}
#define TEST(name, rules)                                                                                              \
    static void test_##name();                                                                                         \
    static const bool added_##name = (tests().push_back({#name, rules, test_##name}), true);                           \
    static void test_##name()

[[noreturn]] inline void check_failed(const char *file, int line, const std::string &text) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
    std::fflush(stderr);
    _exit(1);
}

// Values are shown if they can be: enumerations as their numbers, others by <<.
template <class T, class = void> struct Shown {
    static std::string text(const T &) { return "another value"; }
};
template <class T> struct Shown<T, std::void_t<decltype(std::declval<std::ostream &>() << std::declval<const T &>())>> {
    static std::string text(const T &value) {
        std::ostringstream stream;
        stream << value;
        return stream.str();
    }
};
template <class T> std::string shown(const T &value) {
    if constexpr (std::is_enum_v<T>)
        return std::to_string(static_cast<long long>(value));
    else
        return Shown<T>::text(value);
}
template <class A, class B>
void check_equal(const char *file, int line, const char *expression, const A &value, const B &expected) {
    if (!(value == expected))
        check_failed(file, line, std::string(expression) + " is " + shown(value) + ", not " + shown(expected));
}

#define CHECK(...)                                                                                                     \
    (static_cast<bool>(__VA_ARGS__) ? void() : check_failed(__FILE__, __LINE__, "not true: " #__VA_ARGS__))
#define CHECK_EQUAL(value, expected) check_equal(__FILE__, __LINE__, #value, value, expected)
#ifdef __cpp_exceptions
// The expression throws a treadle::Error of this status, whose message contains `word`.
#define CHECK_ERROR(expression, expected, word)                                                                        \
    check_error(__FILE__, __LINE__, #expression, [&] { (void)(expression); }, treadle::Status::expected, word)

template <class F>
void check_error(const char *file, int line, const char *expression, F &&f, treadle::Status expected,
                 const char *word) {
    std::string complaint = " did not throw";
    try {
        f();
    } catch (const treadle::Error &error) {
        const bool right = error.status() == expected && std::strstr(error.message(), word) &&
                           std::string(error.what()) == std::string(error.function()) + ": " + error.message();
        if (right) return;
        complaint = std::string(" threw ") + treadle::name_of(error.status()) + ": " + error.what();
    }
    check_failed(file, line, expression + complaint);
}
#endif

// What other threads and callbacks say, awaited without a sleep.
class Semaphore {
  public:
    Semaphore() { sem_init(&semaphore_, 0, 0); }
    Semaphore(const Semaphore &) = delete;
    Semaphore &operator=(const Semaphore &) = delete;
    ~Semaphore() { sem_destroy(&semaphore_); }
    void post() { sem_post(&semaphore_); }
    void wait() {
        while (sem_wait(&semaphore_) != 0 && errno == EINTR) {}
    }

  private:
    sem_t semaphore_;
};

// A member of callables that counts how many of them live, and how many were made in all.
struct Counted {
    static inline std::atomic<int> alive{0}, made{0};
    Counted() noexcept { alive++, made++; }
    Counted(const Counted &) noexcept : Counted() {}
    Counted(Counted &&) noexcept : Counted() {}
    Counted &operator=(const Counted &) = default;
    ~Counted() { alive--; }
};

// How much a test repeats: `count`, times TREADLE_TEST_SCALE (a decimal number; 1 when not set).
inline int scaled(int count) {
    const char *scale = std::getenv("TREADLE_TEST_SCALE");
    const double product = count * (scale ? std::atof(scale) : 1.0);
    return product < 1 ? 1 : static_cast<int>(product);
}

inline unsigned watchdog_seconds() {
    const char *limit = std::getenv("TREADLE_TEST_SECONDS");
    return limit ? static_cast<unsigned>(std::atoi(limit)) : 120;
}

// Runs f in a child process; how that ended, as waitpid tells, and what it wrote to standard error.
struct Ended {
    int status;
    std::string errors;
};
template <class F> Ended in_child(F &&f) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(watchdog_seconds());
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        f();
        _exit(0);
    }
    close(ends[1]);
    Ended ended{0, {}};
    char buffer[512];
    for (ssize_t length; (length = read(ends[0], buffer, sizeof buffer)) != 0;)
        if (length > 0) ended.errors.append(buffer, static_cast<std::size_t>(length));
    close(ends[0]);
    while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {}
    return ended;
}

// A process whose threads have all ended does so with 0, so that is no sign that a test came to its end.
constexpr int passed_status = 78;

inline bool run_test(const Test &test) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return std::perror("fork"), false;
    if (child == 0) {
        alarm(watchdog_seconds());
#ifdef __cpp_exceptions
        try {
            test.run();
        } catch (const std::exception &exception) { check_failed(test.name, 0, exception.what()); }
#else
        test.run();
#endif
        std::exit(passed_status); // not _exit: leak checkers report at exit
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && WEXITSTATUS(status) == passed_status) return true;
    if (WIFSIGNALED(status))
        std::fprintf(stderr, "%s: ended by signal %d%s\n", test.name, WTERMSIG(status),
                     WTERMSIG(status) == SIGALRM ? ", the watchdog" : "");
    else
        std::fprintf(stderr, "%s: failed\n", test.name);
    return false;
}

int main(int count, char **arguments) {
    const char *part = "";
    int times = 1, passed = 0, failed = 0;
    for (int i = 1; i < count; i++) {
        if (std::strcmp(arguments[i], "-n") == 0 && i + 1 < count)
            times = std::atoi(arguments[++i]);
        else
            part = arguments[i];
    }
    for (const Test &test : tests()) {
        if (!std::strstr(test.name, part)) continue;
        for (int i = 0; i < times; i++) run_test(test) ? passed++ : failed++;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
