// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// pulse.cpp: a plugin in C++, as a class. It logs a word again and again, with how often it has done so, and hands the number over
// to the one that takes its place.
//
//   interval-ms    how often; 1,000 by default
//   word           what it logs; not empty; may be changed while it runs
//
// It lives on the loop of the thread that starts it, in the default mode. Nothing of it is ended by hand: the timer belongs to
// the plugin's scope, and ends before the object.
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>
#include <treadle.hpp>

namespace {

constexpr treadle_plugin_setting settings[] = {
    treadle::plugin_setting("interval-ms", "1000", "how often to log", TREADLE_SETTING_INTEGER, 1, 9999999),
    treadle::plugin_setting("word", "beat", "what to log; not empty"),
};

class Pulse : public treadle::PluginBase {
  public:
    static constexpr treadle::PluginAbout about{"org.example.pulse", "Pulse", "1.0", TREADLE_PLUGIN_MAY_UNMAP, settings, std::size(settings)};

    explicit Pulse(treadle::PluginHost host) : PluginBase(host) { take(host.setting("word")); }

    void start() {
        const std::chrono::milliseconds interval(std::stoi(host().setting("interval-ms")));
        treadle::Loop::current().add(treadle::Timer::every(interval, [this] { beat(); }));
    }
    /// On any thread.
    void set(const char *key, const char *value) {
        if (std::string(key) != "word") throw treadle::Error(treadle::Status::state, "the interval stays what it was at the start", key);
        take(value);
    }
    std::string save() { return std::to_string(beats_); }
    void restore(const std::string &state) { beats_ = std::stoul(state); }

  private:
    void take(const std::string &word) {
        if (word.empty()) throw std::invalid_argument("the word is empty");
        const std::lock_guard<std::mutex> locked(lock_);
        word_ = word;
    }
    void beat() {
        const std::lock_guard<std::mutex> locked(lock_);
        host().log(treadle::PluginLevel::information, word_ + " " + std::to_string(++beats_));
    }

    std::mutex lock_;
    std::string word_;
    unsigned long beats_ = 0;
};

} // namespace

TREADLE_PLUGIN_CLASS(Pulse)
