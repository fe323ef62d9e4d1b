/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_random_test.c: a host that registers everything at random, from several threads and from inside of its events, while
 * loops come and go. Each token is retired once, or used up, or was refused; none is named in an event after that.
 *
 * TREADLE_HOST_SECONDS sets how long it lasts, TREADLE_TEST_SEED what each thread does, though not when. */
#include "chance.h"
#include "host_items.h"

enum { LOOPS = 2, ACTORS = 3, SLOTS = 16, TOKENS = 1 << 21, DEEPEST = 2 };

/* What is owed to a token. */
enum { RETIRED_ONCE, USED_UP, REFUSED, RETURNED };
static struct token {
    atomic_uchar owed, retired, events, failed, made;
} tokens[TOKENS];
static atomic_uint last_token;
static treadle_host host;
static _Atomic(treadle_loop) loops[LOOPS];
static _Atomic(treadle_thread) threads[LOOPS];
static _Atomic(treadle_object) slots[SLOTS];
static atomic_bool is_over;
static atomic_long lived, events;
static _Thread_local int depth;

static _Thread_local unsigned char making; /* what, for messages */
static uint64_t new_token(int owed) {
    unsigned number = atomic_fetch_add(&last_token, 1) + 1;
    if (number >= TOKENS) return 0;
    tokens[number].owed = (unsigned char)owed;
    tokens[number].made = making;
    return number;
}
/* Retired tokens mean nothing any more: an event with one of them is an error. */
static void take_retired(void) {
    uint64_t some[7];
    size_t count = 0;
    do {
        CHECK_INT(treadle_host_take_retired(host, some, 7, &count), TREADLE_OK);
        for (size_t i = 0; i < count; i++) CHECK_INT(atomic_fetch_add(&tokens[some[i]].retired, 1), 0);
    } while (count == 7);
}

static void act(void);
static void handle_event(uint64_t number, bool fails) {
    CHECK(number > 0 && number < TOKENS && number <= last_token);
    struct token *token = &tokens[number];
    CHECK_INT(token->retired, 0);
    CHECK(token->owed != REFUSED);
    if (token->events < 100) atomic_fetch_add(&token->events, 1);
    if (fails) atomic_store(&token->failed, 1);
    atomic_fetch_add(&events, 1);
    if (depth < DEEPEST && chance(4) == 0) {
        depth++;
        act();
        depth--;
    }
    CHECK_INT(token->retired, 0);
}
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    bool fails = chance(64) == 0;
    if (chance_state == 0) begin_chance((uint64_t)thread_id());
    handle_event(event->token, fails);
    if (fails || !chance(2)) return fails ? 0 : ~ticket;
    treadle_event more[3];
    size_t capacity = 1 + chance(3);
    uint32_t failed = 0;
    for (size_t count; (count = host_next(host, more, capacity, failed)) != 0;)
        for (size_t i = 0; i < count && !failed; i++) {
            if (chance(64) == 0) failed = (uint32_t)i + 1;
            handle_event(more[i].token, failed != 0);
        }
    return failed ? 0 : ~ticket;
}

/* After a refusal the token is the client's, as if it had never been given. */
static void refused(uint64_t token, treadle_status status) {
    static const treadle_status may_be[] = {TREADLE_E_STALE, TREADLE_E_CLOSED, TREADLE_E_STATE, TREADLE_E_ARG};
    bool is_known = false;
    for (size_t i = 0; i < sizeof may_be / sizeof *may_be; i++) is_known |= status == may_be[i];
    if (!is_known) check_failed(__FILE__, __LINE__, "status %d is none of those allowed", status);
    CHECK_INT(tokens[token].events, 0);
    atomic_store(&tokens[token].owed, REFUSED);
}
/* Puts an item into the table, and ends the one that was there. */
static void keep(treadle_object item) {
    treadle_object old = atomic_exchange(&slots[chance(SLOTS)], item);
    if (!old) return;
    if (chance(2)) treadle_invalidate(old);
    CHECK_INT(treadle_release(old), TREADLE_OK);
}
static const char *any_mode(void) { return chance(3) ? TREADLE_DEFAULT_MODE : chance(2) ? TREADLE_COMMON_MODES : "another"; }

static void act_on_items(treadle_loop loop) {
    making = 1;
    uint64_t token = new_token(RETIRED_ONCE);
    treadle_object item = NULL;
    if (!token) return;
    switch (chance(3)) {
    case 0: {
        treadle_source source;
        CHECK_INT(host_source(host, token, chance(4), 0, &source), TREADLE_OK);
        treadle_source_signal(item = source);
        break;
    }
    case 1: {
        treadle_timer timer;
        int64_t interval = chance(2) ? 0 : MILLISECONDS(1);
        CHECK_INT(host_timer(host, token, treadle_time_now() + chance(2000000), interval, &timer), TREADLE_OK);
        item = timer;
        break;
    }
    default: {
        treadle_observer observer;
        CHECK_INT(host_observer(host, token, TREADLE_ALL_ACTIVITIES, chance(2), &observer), TREADLE_OK);
        item = observer;
    }
    }
    if (loop) treadle_loop_add(loop, item, any_mode());
    keep(item);
    if (loop) treadle_loop_wake(loop);
}
static void act_on_loop(treadle_loop loop) {
    making = 2;
    const char *mode = any_mode();
    bool is_post = chance(2);
    uint64_t token = new_token(USED_UP);
    if (!token || !loop) return token ? (void)atomic_store(&tokens[token].owed, REFUSED) : (void)0;
    treadle_status status = is_post ? treadle_host_post(host, token, loop) : host_post_block(host, token, loop, &mode, 1);
    if (status < 0) refused(token, status);
    treadle_loop_wake(loop);
}
static void act_on_thread(treadle_thread thread) {
    making = 3;
    const char *mode = any_mode();
    bool waits = depth == 0 && chance(4) == 0;
    uint64_t token = new_token(waits ? RETURNED : USED_UP);
    if (!token || !thread) return token ? (void)atomic_store(&tokens[token].owed, REFUSED) : (void)0;
    treadle_status status = host_perform(host, token, thread, waits ? NULL : &mode, !waits, waits ? TREADLE_PERFORM_WAIT : 0);
    if (waits) atomic_store(&tokens[token].retired, 1); /* it is not named any more */
    else if (status < 0 && status != TREADLE_E_CLOSED && status != TREADLE_E_DEADLOCK) refused(token, status);
}
static void act_for_this_thread(void) {
    making = 4;
    uint64_t token = new_token(RETIRED_ONCE);
    treadle_status status;
    if (!token) return;
    if (chance(2)) {
        treadle_thread thread;
        status = host_thread(host, token, &thread);
        if (status == TREADLE_OK) {
            if (chance(4)) CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
            CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        }
    } else {
        status = treadle_host_pool_add(host, token);
    }
    if (status < 0) refused(token, status);
}
static void act_on_closure(treadle_loop loop) {
    making = 5;
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "vi", .loop = chance(2) ? loop : NULL};
    treadle_closure closure;
    void (*code)(void);
    uint64_t token = new_token(RETIRED_ONCE);
    if (!token) return;
    config.delivery = config.loop ? TREADLE_DELIVERY_ASYNC : TREADLE_DELIVERY_INLINE;
    treadle_status status = host_closure(host, token, &config, &closure);
    if (status < 0) return refused(token, status);
    CHECK_INT(treadle_closure_get_code(closure, &code), TREADLE_OK);
    for (unsigned calls = chance(3); calls > 0; calls--) ((void (*)(int))code)(7);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
}

static void act(void) {
    unsigned which = chance(LOOPS);
    treadle_loop loop = atomic_load(&loops[which]);
    switch (chance(8)) {
    case 0: take_retired(); break;
    case 1:
    case 2: act_on_items(loop); break;
    case 3:
    case 4: act_on_loop(loop); break;
    case 5: act_on_thread(atomic_load(&threads[which])); break;
    case 6: act_for_this_thread(); break;
    default: act_on_closure(loop);
    }
}

static void *be_actor(void *number) {
    begin_chance((uint64_t)(uintptr_t)number);
    while (!is_over && last_token < TOKENS - 1000) act();
    return NULL;
}
/* A loop of its own for some milliseconds, again and again, each on a new thread. */
static void *live(void *number) {
    int me = (int)(uintptr_t)number;
    begin_chance((uint64_t)(100 + me + 2 * atomic_fetch_add(&lived, 1)));
    CHECK_INT(treadle_retain(treadle_loop_current()), TREADLE_OK);
    CHECK_INT(treadle_retain(treadle_thread_current()), TREADLE_OK);
    treadle_loop old_loop = atomic_exchange(&loops[me], treadle_loop_current());
    treadle_thread old_thread = atomic_exchange(&threads[me], treadle_thread_current());
    if (old_loop) treadle_loop_release(old_loop);
    if (old_thread) treadle_thread_release(old_thread);
    int64_t end = treadle_time_now() + MILLISECONDS(1) * (1 + chance(20));
    while (!is_over && treadle_time_now() < end) {
        treadle_status status = treadle_loop_run(treadle_loop_current(), chance(4) ? TREADLE_DEFAULT_MODE : "another", MILLISECONDS(1), 0);
        CHECK(status >= 0 || status == TREADLE_E_CALLBACK);
    }
    return NULL;
}
static void *be_loops(void *number) {
    while (!is_over) on_thread(live, number);
    return NULL;
}

static void begin(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    choose_seed();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
}
/* Everything that was made is given back; threads that were started last may still make some. */
static void end(void) {
    for (int i = 0; i < SLOTS; i++) {
        treadle_object item = atomic_exchange(&slots[i], NULL);
        if (item) treadle_invalidate(item), treadle_release(item);
    }
    for (int i = 0; i < LOOPS; i++) {
        treadle_release(atomic_exchange(&loops[i], NULL));
        treadle_release(atomic_exchange(&threads[i], NULL));
    }
    take_retired();
}
static bool is_settled(unsigned number) {
    struct token *token = &tokens[number];
    switch (token->owed) {
    case REFUSED: return token->events == 0 && token->retired == 0;
    case USED_UP: return token->events == 1 && !token->failed ? token->retired == 0 : token->events <= 1 && token->retired == 1;
    default: return token->retired == 1;
    }
}

TEST(every_token_is_retired_once_or_used_up, "ABI-2 ABI-3 OBJ-4 RL-8") {
    pthread_t all[ACTORS + LOOPS];
    const char *seconds = getenv("TREADLE_HOST_SECONDS");
    begin();
    for (uintptr_t i = 0; i < ACTORS + LOOPS; i++)
        CHECK_INT(pthread_create(&all[i], NULL, i < ACTORS ? be_actor : be_loops, (void *)(i < ACTORS ? i : i - ACTORS)), 0);
    treadle_thread_sleep_for(seconds ? SECONDS(atoi(seconds)) : MILLISECONDS(scaled(2000)));
    while (events == 0 || lived == 0) sched_yield(); /* on a busy machine it takes longer until all threads have had a turn */
    atomic_store(&is_over, true);
    for (int i = 0; i < ACTORS + LOOPS; i++) pthread_join(all[i], NULL);
    for (unsigned number = 1; number <= last_token && number < TOKENS; number++)
        while (!is_settled(number)) sched_yield(), end();
    CHECK(events > 0 && lived > 0);
    for (unsigned number = 1; number <= last_token && number < TOKENS; number++)
        if (!is_settled(number)) check_failed(__FILE__, __LINE__, "token %u of %d: owed %d, %d events, retired %d times, failed %d", number, tokens[number].made, tokens[number].owed, tokens[number].events, tokens[number].retired, tokens[number].failed);
}

TEST_MAIN()
