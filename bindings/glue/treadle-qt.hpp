/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-qt.hpp: run loops and Qt's event loops on one thread, either inside of the other. C++17; Qt 5.15 or 6, QtCore alone. */
#ifndef TREADLE_QT_HPP
#define TREADLE_QT_HPP

/* Qt's keyword is a member's name there. */
#pragma push_macro("signals")
#undef signals
#include "treadle-glue.h"
#pragma pop_macro("signals")

#include <unistd.h>

#include <QAbstractEventDispatcher>
#include <QByteArray>
#include <QCoreApplication>
#include <QHash>
#include <QPointer>
#include <QSocketNotifier>
#include <QThread>
#include <QTimerEvent>
#include <mutex>

/** The calling thread's run loop, in one mode, inside of Qt's event loop of that thread. Deleting it, or its parent, ends the
 *  waiting and closes the descriptor. While a callback of the run loop runs an event loop of Qt's, as a dialog does, the run loop is
 *  paused. Since 1.0. */
class TreadleNotifier : public QSocketNotifier {
  public:
    /** ended may be NULL. NULL for the last error: those of treadle_glue_open. Since 1.0. */
    static TreadleNotifier *create(treadle_loop loop, const char *mode = TREADLE_DEFAULT_MODE, treadle_glue_fn ended = nullptr,
                                   void *info = nullptr, QObject *parent = nullptr) {
        std::int32_t fd = -1;
        if (treadle_glue_open(loop, mode, &fd) < 0) return nullptr;
        return new TreadleNotifier(fd, loop, mode, ended, info, parent);
    }
    ~TreadleNotifier() override {
        setEnabled(false);
        close(fd_);
        treadle_release(loop_);
    }

  protected:
    bool event(QEvent *event) override {
        if (event->type() != QEvent::SockAct) return QSocketNotifier::event(event);
        /* An event loop inside of a callback does not pass, and must not spin. */
        if (is_passing_) return is_paused_ = true, setEnabled(false), true;
        const QPointer<TreadleNotifier> self(this); /* a callback may delete it */
        is_passing_ = true;
        const bool goes_on = treadle_glue_pass(loop_, mode_.constData(), ended_, info_);
        if (!self) return true;
        if (!goes_on || is_paused_) setEnabled(goes_on);
        is_passing_ = is_paused_ = false;
        return true;
    }

  private:
    TreadleNotifier(std::int32_t fd, treadle_loop loop, const char *mode, treadle_glue_fn ended, void *info, QObject *parent)
        : QSocketNotifier(fd, QSocketNotifier::Read, parent), fd_(fd), loop_(loop), mode_(mode), ended_(ended), info_(info) {
        if (const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance())
            connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, [this] {
                if (!is_passing_) treadle_glue_prepare(loop_, mode_.constData());
            });
    }
    std::int32_t fd_;
    treadle_loop loop_;
    QByteArray mode_;
    treadle_glue_fn ended_;
    void *info_;
    bool is_passing_ = false, is_paused_ = false;
};

/** Qt's event loop of a thread, made of that thread's run loop: given to QCoreApplication::setEventDispatcher before there is an
 *  application, or to QThread::setEventDispatcher. Then exec() runs the run loop in the default mode, and a run of the run loop in
 *  that mode serves Qt: its timers, notifiers and posted events. Notifiers of exceptions (out-of-band data) are not served.
 *  A stop of the run loop ends a pass, and exec() continues. But Qt's event loops of the thread end, as by QThread::exit, if the thread
 *  is stopped (treadle_thread_stop), if a stop of all levels comes while an event loop runs in the callback of another run, after
 *  treadle_shutdown, and after an error, which is reported (treadle_report_error). It has the run loop of the thread that makes it, or
 *  of the one that it is moved to, as QThread::setEventDispatcher does, from when that begins. To be used on that thread, but for
 *  wakeUp and interrupt. Since 1.0. */
class TreadleEventDispatcher : public QAbstractEventDispatcher {
  public:
    explicit TreadleEventDispatcher(QObject *parent = nullptr) : QAbstractEventDispatcher(parent) { bind(); }
    ~TreadleEventDispatcher() override {
        for (const Timer &timer : timers_) drop(timer.native);
        for (const Watch &watch : watches_) drop(watch.native);
        unbind();
    }
    void startingUp() override { bind(); }
    bool event(QEvent *event) override {
        if (event->type() == QEvent::ThreadChange) unbind();
        return QAbstractEventDispatcher::event(event);
    }

    bool processEvents(QEventLoop::ProcessEventsFlags flags) override {
        const bool waits = flags & QEventLoop::WaitForMoreEvents, outer_excludes = excludes_sockets_;
        bool goes_on = true;
        bind();
        depth_++;
        is_interrupted_.storeRelease(0);
        has_handled_ = is_posted_.loadAcquire() != 0;
        excludes_sockets_ = flags & QEventLoop::ExcludeSocketNotifiers;
        if (outer_excludes != excludes_sockets_) watchAll();
        Q_EMIT awake();
        QCoreApplication::sendPostedEvents();
        do {
            const bool sleeps = waits && !has_handled_ && armed_zeros_ == 0 && !is_interrupted_.loadAcquire();
            if (sleeps) Q_EMIT aboutToBlock();
            goes_on = run(sleeps ? TREADLE_FOREVER : 0);
            if (sleeps) Q_EMIT awake();
        } while (waits && goes_on && !has_handled_ && !is_interrupted_.loadAcquire());
        const bool result = has_handled_;
        if (outer_excludes != excludes_sockets_) excludes_sockets_ = outer_excludes, watchAll();
        /* The event that would have made an outer run return reached this run, which a callback of the outer one began. */
        if (--depth_ > 0) handled();
        return result;
    }
#if QT_VERSION < QT_VERSION_CHECK(6, 0, 0)
    using Interval = int;
    bool hasPendingEvents() override { return is_posted_.loadAcquire() != 0; }
    void flush() override {}
#else
    using Interval = qint64;
#endif

    void registerSocketNotifier(QSocketNotifier *notifier) override {
        if (notifier->type() == QSocketNotifier::Exception) return;
        const int fd = static_cast<int>(notifier->socket());
        bind();
        Watch &watch = watches_[fd];
        watch.notifiers[notifier->type()] = notifier;
        if (!watch.native) {
            treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
            context.info = this, context.ready = ready, context.fd = fd, context.events = TREADLE_READABLE;
            if (treadle_descriptor_create(&context, &watch.native) < 0 ||
                treadle_loop_add(loop_, watch.native, TREADLE_DEFAULT_MODE) < 0)
                qWarning("TreadleEventDispatcher: descriptor %d is not watched", fd);
        }
        watch_for(watch);
    }
    void unregisterSocketNotifier(QSocketNotifier *notifier) override {
        const auto found = watches_.find(static_cast<int>(notifier->socket()));
        if (found == watches_.end() || notifier->type() == QSocketNotifier::Exception) return;
        found->notifiers[notifier->type()] = nullptr;
        if (found->notifiers[0] || found->notifiers[1]) return watch_for(*found);
        drop(found->native);
        watches_.erase(found);
    }

    void registerTimer(int id, Interval interval, Qt::TimerType type, QObject *object) override {
        Timer timer = {nullptr, object, interval, type, false};
        bind();
        const treadle_status status = interval > 0 ? create_timer(id, timer) : create_zero_timer(id, timer);
        if (status < 0 || treadle_loop_add(loop_, timer.native, TREADLE_DEFAULT_MODE) < 0)
            qWarning("TreadleEventDispatcher: timer %d does not fire", id);
        const auto made = timers_.insert(id, timer);
        if (interval <= 0) arm_zero(made.value());
    }
    bool unregisterTimer(int id) override {
        const auto found = timers_.find(id);
        if (found == timers_.end()) return false;
        if (found->is_armed) armed_zeros_--;
        drop(found->native);
        timers_.erase(found);
        return true;
    }
    bool unregisterTimers(QObject *object) override {
        const QList<TimerInfo> all = registeredTimers(object);
        for (const TimerInfo &info : all) unregisterTimer(info.timerId);
        return !all.isEmpty();
    }
    QList<TimerInfo> registeredTimers(QObject *object) const override {
        QList<TimerInfo> all;
        for (auto each = timers_.begin(); each != timers_.end(); ++each)
            if (each->object == object) all.append(TimerInfo(each.key(), static_cast<int>(each->interval), each->type));
        return all;
    }
    int remainingTime(int id) override {
        std::int64_t date = 0;
        const auto found = timers_.constFind(id);
        if (found == timers_.constEnd()) return -1;
        if (found->interval <= 0) return 0;
        if (treadle_timer_get_next_fire(static_cast<treadle_timer>(found->native), &date) < 0) return -1;
        const std::int64_t left = date - treadle_time_now();
        return left > 0 ? static_cast<int>((left + 999999) / 1000000) : 0;
    }

    /** Any thread. Posts coalesce; a nested run serves them, too. Before the dispatcher's thread has a loop they wait for it. */
    void wakeUp() override {
        if (!is_posted_.testAndSetOrdered(0, 1)) return;
        const std::lock_guard<std::mutex> guard(lock_);
        if (link_) post();
    }
    void interrupt() override {
        is_interrupted_.storeRelease(1);
        const std::lock_guard<std::mutex> guard(lock_);
        if (handled_) treadle_source_signal_and_wake(handled_);
    }

  private:
    struct Timer {
        treadle_object native; /* a timer; for one of 0 ms a source, which signals itself */
        QObject *object;
        Interval interval;
        Qt::TimerType type;
        bool is_armed; /* of 0 ms: its source is signalled */
    };
    struct Watch {
        treadle_descriptor native = nullptr;
        QSocketNotifier *notifiers[2] = {nullptr, nullptr}; /* QSocketNotifier::Read, Write */
    };
    struct Fire {
        TreadleEventDispatcher *dispatcher;
        int id;
    };
    /* A post has it in place of the dispatcher, which may have left the loop. */
    struct Link {
        TreadleEventDispatcher *dispatcher;
        QAtomicInt references;
        static void release(void *info) {
            if (!static_cast<Link *>(info)->references.deref()) delete static_cast<Link *>(info);
        }
    };

    /* To the calling thread's loop, unless it has one. */
    void bind() {
        if (link_) return;
        treadle_loop loop = treadle_loop_current();
        treadle_source source = nullptr;
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        is_retained_ = treadle_retain(loop) >= 0;
        if (!is_retained_) qWarning("TreadleEventDispatcher: is good only as long as its thread's run loop, which has no reference left");
        treadle_status status = treadle_source_create(&context, &source);
        if (status >= 0) status = treadle_loop_add(loop, source, TREADLE_DEFAULT_MODE);
        if (status < 0) qWarning("TreadleEventDispatcher: event loops cannot be interrupted: %s", treadle_status_name(status));
        const std::lock_guard<std::mutex> guard(lock_);
        loop_ = loop, handled_ = source;
        link_ = new Link{this, 1};
        if (is_posted_.loadAcquire()) post();
    }
    void unbind() {
        if (!link_) return;
        const std::lock_guard<std::mutex> guard(lock_);
        link_->dispatcher = nullptr;
        Link::release(link_);
        drop(handled_);
        if (is_retained_) treadle_release(loop_);
        link_ = nullptr, handled_ = nullptr, loop_ = nullptr;
    }
    /* The lock is held. */
    void post() {
        treadle_post post = TREADLE_INIT(treadle_post);
        post.fn = send, post.info = link_, post.destroy = Link::release;
        link_->references.ref();
        if (treadle_loop_post_in(loop_, &post) < 0) is_posted_.storeRelease(0);
    }
    treadle_status create_timer(int id, Timer &timer) {
        treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
        context.info = new Fire{this, id}, context.release = [](void *info) { delete static_cast<Fire *>(info); }, context.fire = fire;
        context.interval_ns = static_cast<std::int64_t>(timer.interval) * 1000000;
        context.fire_at = treadle_time_now() + context.interval_ns;
        context.tolerance_ns = timer.type == Qt::PreciseTimer ? 0 : context.interval_ns / 20;
        treadle_timer native = nullptr;
        const treadle_status status = treadle_timer_create(&context, &native);
        timer.native = native;
        return status;
    }
    void arm_zero(Timer &timer) {
        timer.is_armed = treadle_source_signal(static_cast<treadle_source>(timer.native)) == TREADLE_OK;
        if (timer.is_armed) armed_zeros_++;
    }
    /* Once a pass, and so once in each call of processEvents, however short that is. */
    treadle_status create_zero_timer(int id, Timer &timer) {
        treadle_source_context context = TREADLE_INIT(treadle_source_context);
        context.info = new Fire{this, id}, context.release = [](void *info) { delete static_cast<Fire *>(info); };
        context.perform = [](treadle_source source, void *info) {
            const Fire own = *static_cast<Fire *>(info);
            TreadleEventDispatcher &self = *own.dispatcher;
            auto found = self.timers_.find(own.id);
            if (found == self.timers_.end() || found->native != source) return;
            found->is_armed = false, self.armed_zeros_--;
            fire_object(own);
            /* Behind its event, during which it does not fire again. */
            found = self.timers_.find(own.id);
            if (found != self.timers_.end() && found->native == source) self.arm_zero(*found);
        };
        treadle_source native = nullptr;
        const treadle_status status = treadle_source_create(&context, &native);
        timer.native = native;
        return status;
    }

    /* Runs the loop, and returns whether it can be run again. If not, Qt's event loops of the thread end. */
    bool run(std::int64_t timeout) {
        /* A run that returns after a source performs no other one; without time it makes one pass, which performs all. */
        const std::uint32_t flags = TREADLE_RUN_WHEN_EMPTY | (timeout > 0 ? TREADLE_RUN_RETURN_AFTER_SOURCE : 0);
        const treadle_status status = treadle_loop_run(loop_, TREADLE_DEFAULT_MODE, timeout, flags);
        if (status == TREADLE_E_CALLBACK || (status >= 0 && !(status == TREADLE_RUN_STOPPED && stays_stopped()))) return true;
        if (status < 0 && status != TREADLE_E_CLOSED)
            treadle_report_error(treadle_status_name(status), "Qt's event loops end, since their run loop cannot run");
        passes_at_stop_ = UINT64_MAX;
        thread()->exit(status < 0 ? 1 : 0);
        return false;
    }
    /* After a stop. One that also prevents the next run's first pass is one of all levels, which lasts until the outermost run ends. */
    bool stays_stopped() {
        treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
        if (treadle_loop_get_counters(loop_, &counters) < 0 || counters.passes == passes_at_stop_) return true;
        passes_at_stop_ = counters.passes;
        return treadle_thread_is_cancelled(treadle_thread_current());
    }
    static void drop(treadle_object item) {
        if (item) treadle_invalidate(item), treadle_release(item);
    }
    void watch_for(const Watch &watch) const {
        const std::uint32_t events = (watch.notifiers[0] ? TREADLE_READABLE : 0) | (watch.notifiers[1] ? TREADLE_WRITABLE : 0);
        if (!watch.native) return;
        const treadle_status status = treadle_descriptor_set_events(watch.native, excludes_sockets_ ? 0 : events);
        if (status < 0) qWarning("TreadleEventDispatcher: a descriptor is not watched: %s", treadle_status_name(status));
    }
    void watchAll() const {
        for (const Watch &watch : watches_) watch_for(watch);
    }
    /* Something of Qt's was handled: the run of processEvents, if that is the innermost, returns after its pass. */
    void handled() {
        has_handled_ = true;
        treadle_source_signal(handled_);
    }
    static void send(void *info) {
        TreadleEventDispatcher *self = static_cast<Link *>(info)->dispatcher;
        if (!self) return;
        self->is_posted_.storeRelease(0);
        self->handled();
        QCoreApplication::sendPostedEvents();
    }
    static void fire(treadle_timer, void *info) { fire_object(*static_cast<Fire *>(info)); }
    static void fire_object(const Fire own) {
        const auto found = own.dispatcher->timers_.constFind(own.id);
        if (found == own.dispatcher->timers_.constEnd()) return;
        own.dispatcher->handled();
        QTimerEvent event(own.id);
        QCoreApplication::sendEvent(found->object, &event);
    }
    static void ready(treadle_descriptor source, std::uint32_t events, void *info) {
        auto *self = static_cast<TreadleEventDispatcher *>(info);
        std::int32_t fd = -1;
        treadle_descriptor_get_fd(source, &fd);
        self->handled();
        for (const int type : {0, 1}) {
            const std::uint32_t meant = (type == 0 ? TREADLE_READABLE : TREADLE_WRITABLE) | TREADLE_HANGUP | TREADLE_FAILED;
            const auto found = self->watches_.constFind(fd); /* again: an event may end a notifier, and a number mean another */
            if (found == self->watches_.constEnd() || found->native != source || !found->notifiers[type] || !(events & meant)) continue;
            QEvent event(QEvent::SockAct);
            QCoreApplication::sendEvent(found->notifiers[type], &event);
        }
    }

    std::mutex lock_; /* of the next four where they are written, or used by other threads */
    treadle_loop loop_ = nullptr;
    bool is_retained_ = false;
    Link *link_ = nullptr; /* NULL: there is no loop yet */
    treadle_source handled_ = nullptr; /* has runs that return after a source return */
    QHash<int, Timer> timers_;
    QHash<int, Watch> watches_;
    QAtomicInt is_posted_ = 0, is_interrupted_ = 0;
    int depth_ = 0, armed_zeros_ = 0; /* calls of processEvents; timers of 0 ms that fire in the next pass */
    std::uint64_t passes_at_stop_ = UINT64_MAX; /* all that were made when a stop ended a run */
    bool has_handled_ = false, excludes_sockets_ = false;
};

#endif
