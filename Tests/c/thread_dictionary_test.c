/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_dictionary_test.c: what threads carry under names: who may read it, when it is given back. */
#include "thread_jobs.h"

/* A value that knows how often it was given back. */
struct value { atomic_int releases; int number; };
static void release_value(void *value) { atomic_fetch_add(&((struct value *)value)->releases, 1); }
static treadle_status set(treadle_thread thread, const char *key, struct value *value) {
    return treadle_thread_set_value(thread, key, value, release_value);
}
static struct value *get(treadle_thread thread, const char *key) {
    void *value = &value;
    treadle_status status = treadle_thread_get_value(thread, key, &value);
    CHECK(status == TREADLE_OK || (status == TREADLE_E_NOT_FOUND && !value));
    return value;
}

/* --- One thread ----------------------------------------------------------------------------------- */

TEST(values_are_set_replaced_and_removed, "THR-12") {
    treadle_thread self = treadle_thread_current();
    struct value one = {0}, two = {0}, three = {0};
    char key[] = "a key";
    CHECK_ERROR(treadle_thread_get_value(self, key, &(void *){0}), TREADLE_E_NOT_FOUND, "");
    CHECK_INT(set(self, key, &one), TREADLE_OK);
    key[0] = 'x'; /* the text is the caller's */
    CHECK(get(self, "a key") == &one && !get(self, key));
    CHECK_INT(set(self, "another", &three), TREADLE_OK);
    CHECK_INT(set(self, "a key", &two), TREADLE_OK);
    CHECK_INT(one.releases, 1); /* when it is replaced */
    CHECK(get(self, "a key") == &two && get(self, "another") == &three);
    CHECK_INT(treadle_thread_remove_value(self, "a key"), TREADLE_OK);
    CHECK_INT(two.releases, 1); /* or removed */
    CHECK(!get(self, "a key"));
    CHECK_INT(treadle_thread_remove_value(self, "a key"), TREADLE_IGNORED);
    CHECK_INT(treadle_thread_remove_value(self, "none"), TREADLE_IGNORED);
    CHECK_INT(set(self, "another", &three), TREADLE_OK); /* the same again: given back once for the first time */
    CHECK_INT(three.releases, 1);
    CHECK_INT(treadle_thread_set_value(self, "null", NULL, NULL), TREADLE_OK);
    void *value = &value;
    CHECK_INT(treadle_thread_get_value(self, "null", &value), TREADLE_OK); /* NULL is a value */
    CHECK(!value);
    CHECK_INT(treadle_thread_remove_value(self, "null"), TREADLE_OK);
    CHECK_INT(treadle_thread_remove_value(self, "another"), TREADLE_OK);
    CHECK_INT(one.releases, 1);
    CHECK_INT(two.releases, 1);
    CHECK_INT(three.releases, 2);
}
static void never_use(void *value, void *info) { (void)value, check_failed(__FILE__, __LINE__, "used with %p", info); }
TEST(dictionary_calls_that_are_refused, "THR-12 OBJ-2") {
    treadle_thread self = treadle_thread_current();
    struct value value = {0};
    CHECK_ERROR(set(self, NULL, &value), TREADLE_E_ARG, "key");
    CHECK_INT(value.releases, 1);
    CHECK_ERROR(set(NULL, "key", &value), TREADLE_E_ARG, "thread");
    CHECK_INT(value.releases, 2);
    CHECK_ERROR(set((treadle_thread)&value, "key", &value), TREADLE_E_STALE, "thread");
    CHECK_INT(value.releases, 3);
    CHECK_ERROR(treadle_thread_get_value(self, NULL, &(void *){0}), TREADLE_E_ARG, "key");
    CHECK_ERROR(treadle_thread_get_value(self, "key", NULL), TREADLE_E_ARG, "out_value");
    CHECK_ERROR(treadle_thread_remove_value(self, NULL), TREADLE_E_ARG, "key");
    CHECK_ERROR(treadle_thread_use_value(self, "key", NULL, NULL), TREADLE_E_ARG, "use");
    CHECK_ERROR(treadle_thread_use_value(self, NULL, never_use, NULL), TREADLE_E_ARG, "key");
    CHECK_ERROR(treadle_thread_use_value(self, "key", never_use, NULL), TREADLE_E_NOT_FOUND, "");
}
TEST(a_dictionary_has_room_for_many, "THR-12") {
    enum { MANY = 3000 };
    static struct value values[MANY];
    char key[64];
    treadle_thread self = treadle_thread_current();
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < MANY; i++) {
            values[i].number = i;
            snprintf(key, sizeof key, "%s%d\xc3\xa9", i % 2 ? "key " : "", i);
            CHECK_INT(set(self, key, &values[i]), TREADLE_OK);
        }
        for (int i = MANY - 1; i >= 0; i--) {
            snprintf(key, sizeof key, "%s%d\xc3\xa9", i % 2 ? "key " : "", i);
            CHECK(get(self, key) == &values[i]);
            CHECK_INT(values[i].releases, round - 1);
            CHECK_INT(treadle_thread_remove_value(self, key), TREADLE_OK);
            CHECK_INT(values[i].releases, round);
        }
    }
}

/* --- Several threads ------------------------------------------------------------------------------ */

struct carrier { struct held held; struct value mine, kept; treadle_thread parent; };
static void *carry(void *info) {
    struct carrier *carrier = info;
    treadle_thread self = treadle_thread_current();
    CHECK(get(self, "early") == &carrier->kept); /* set before the start */
    CHECK(!get(self, "parent's"));
    CHECK(get(carrier->parent, "parent's"));
    CHECK_INT(set(self, "mine", &carrier->mine), TREADLE_OK);
    held_main(&carrier->held);
    CHECK(!get(self, "mine"));
    CHECK(get(self, "from outside") == &carrier->kept);
    return NULL;
}
TEST(a_dictionary_is_reached_through_its_thread, "THR-12") {
    struct carrier carrier = {.parent = treadle_thread_current()};
    struct value parents = {0};
    gate_make(&carrier.held.there);
    gate_make(&carrier.held.gate);
    CHECK_INT(set(carrier.parent, "parent's", &parents), TREADLE_OK);
    treadle_thread thread = thread_make(carry, &carrier);
    CHECK_INT(set(thread, "early", &carrier.kept), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    gate_pass(&carrier.held.there);
    CHECK(get(thread, "mine") == &carrier.mine && !get(thread, "parent's") && !get(carrier.parent, "mine"));
    CHECK_INT(set(thread, "from outside", &carrier.kept), TREADLE_OK);
    CHECK_INT(treadle_thread_remove_value(thread, "mine"), TREADLE_OK);
    CHECK_INT(carrier.mine.releases, 1);
    gate_open(&carrier.held.gate);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    thread_end(thread);
    CHECK_INT(carrier.kept.releases, 2); /* under each name once */
    CHECK_INT(parents.releases, 0);
    /* A thread that is over has nothing, and takes nothing. */
    CHECK(!get(thread, "early"));
    CHECK_ERROR(set(thread, "late", &carrier.mine), TREADLE_E_STATE, "thread");
    CHECK_INT(carrier.mine.releases, 2);
    CHECK_INT(treadle_thread_remove_value(thread, "early"), TREADLE_IGNORED);
    CHECK_ERROR(treadle_thread_use_value(thread, "early", never_use, NULL), TREADLE_E_NOT_FOUND, "");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_remove_value(carrier.parent, "parent's"), TREADLE_OK);
}
TEST(the_values_of_a_thread_that_never_ran_are_given_back, "THR-12 THR-4 THR-5") {
    struct value value = {0};
    treadle_thread thread = thread_make(nothing, NULL);
    CHECK_INT(set(thread, "key", &value), TREADLE_OK);
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(value.releases, 1);
    thread = thread_make(nothing, NULL); /* nor does one that was cancelled */
    CHECK_INT(set(thread, "key", &value), TREADLE_OK);
    CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    thread_end(thread);
    CHECK_INT(value.releases, 2);
}

/* --- The end of the thread ------------------------------------------------------------------------ */

static struct value last, later;
static treadle_thread ending;
static void *look_from_outside(void *unused) {
    CHECK(get(ending, "last") == &last);
    return unused;
}
static void read_at_the_end(struct listener *listener) {
    if (listener->object != ending) return; /* the one that looks from outside */
    CHECK(get(ending, "last") == &last);
    CHECK_INT(last.releases, 0);
    on_thread(look_from_outside, NULL);
    CHECK_INT(set(ending, "later", &later), TREADLE_OK); /* it may still be changed */
    CHECK(get(ending, "later") == &later);
}
static void *leave_a_value(void *info) {
    ending = treadle_thread_current();
    CHECK_INT(set(ending, "last", &last), TREADLE_OK);
    return info;
}
TEST(values_live_until_after_the_last_notification, "THR-12 THR-14") {
    struct listener exits = {.run = read_at_the_end};
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    for (int round = 1; round <= 2; round++) {
        if (round == 1) thread_end(thread_begin(leave_a_value, NULL));
        else on_thread(leave_a_value, NULL); /* a thread of others */
        CHECK_INT(last.releases, 1);
        CHECK_INT(later.releases, 1);
        last.releases = later.releases = 0;
    }
    CHECK(exits.calls >= 2);
}
/* A release may use the dictionary, also that of a thread which ends. */
static atomic_int chain;
static void release_and_set(void *value) {
    treadle_thread self = treadle_thread_current();
    (void)value;
    if (atomic_fetch_add(&chain, 1) == 2) return;
    treadle_status status = treadle_thread_set_value(self, "chain", NULL, release_and_set); /* calls itself if refused */
    CHECK(status == TREADLE_OK || status == TREADLE_E_STATE);
}
static void *end_with_a_chain(void *info) {
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "chain", NULL, release_and_set), TREADLE_OK);
    return info;
}
TEST(a_release_may_use_the_dictionary, "THR-12 OBJ-7") {
    treadle_thread self = treadle_thread_current();
    struct value value = {0};
    CHECK_INT(treadle_thread_set_value(self, "chain", NULL, release_and_set), TREADLE_OK);
    CHECK_INT(set(self, "chain", &value), TREADLE_OK); /* its release sets "chain" again, which is released then or later */
    while (treadle_thread_remove_value(self, "chain") == TREADLE_OK) {}
    CHECK_INT(value.releases, 1);
    CHECK(chain >= 1 && chain <= 3);
    chain = 0;
    thread_end(thread_begin(end_with_a_chain, NULL));
    CHECK_INT(chain, 3);
}

/* --- Using a value that others may replace -------------------------------------------------------- */

static struct value replacement;
static void *replace(void *thread) {
    CHECK_INT(set(thread, "key", &replacement), TREADLE_OK);
    return NULL;
}
static void use_while_it_is_replaced(void *value, void *info) {
    struct value *used = value;
    CHECK_INT(used->number, 42);
    if (info) on_thread(replace, info);
    else replace(treadle_thread_current());
    CHECK(get(info ? info : treadle_thread_current(), "key") == &replacement);
    CHECK_INT(used->releases, 0); /* not while it is used */
}
TEST(a_value_in_use_is_not_given_back, "THR-12 OBJ-7") {
    treadle_thread self = treadle_thread_current();
    for (int by_another = 0; by_another < 2; by_another++) {
        struct value value = {.number = 42};
        replacement.releases = 0;
        CHECK_INT(set(self, "key", &value), TREADLE_OK);
        CHECK_INT(treadle_thread_use_value(self, "key", use_while_it_is_replaced, by_another ? self : NULL), TREADLE_OK);
        CHECK_INT(value.releases, 1);
        CHECK_INT(replacement.releases, 0);
        CHECK_INT(treadle_thread_remove_value(self, "key"), TREADLE_OK);
        CHECK_INT(replacement.releases, 1);
    }
}
struct user { treadle_thread thread; struct gate inside, go; struct value *value; };
static void use_past_the_end(void *value, void *info) {
    struct user *user = info;
    CHECK(value == user->value);
    gate_open(&user->inside);
    gate_pass(&user->go);
    CHECK_INT(user->value->releases, 0);
}
static void *use_it(void *info) {
    struct user *user = info;
    CHECK_INT(treadle_thread_use_value(user->thread, "key", use_past_the_end, user), TREADLE_OK);
    return NULL;
}
TEST(a_value_in_use_outlives_its_thread, "THR-12") {
    struct held held;
    struct value value = {0};
    struct user user = {.thread = held_begin(&held, NULL), .value = &value};
    pthread_t thread;
    gate_make(&user.inside);
    gate_make(&user.go);
    CHECK_INT(set(user.thread, "key", &value), TREADLE_OK);
    CHECK_INT(pthread_create(&thread, NULL, use_it, &user), 0);
    gate_pass(&user.inside);
    gate_open(&held.gate);
    thread_end(user.thread); /* nobody waits for the user */
    CHECK_INT(value.releases, 0);
    gate_open(&user.go);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(value.releases, 1);
}

/* Counts what lives: used memory would be found by the sanitizers and valgrind. */
static atomic_int made, freed;
static void free_value(void *value) {
    struct value *mine = value;
    CHECK_INT(mine->number, 1);
    mine->number = 0;
    free(mine);
    atomic_fetch_add(&freed, 1);
}
static void read_value(void *value, void *info) {
    (void)info;
    CHECK_INT(((struct value *)value)->number, 1);
}
static void *fight(void *thread) {
    unsigned state = (unsigned)thread_id();
    char key[2] = {0, 0};
    for (int i = scaled(20000); i > 0; i--) {
        state = state * 1103515245u + 12345u;
        key[0] = (char)('a' + (state >> 16) % 3);
        switch ((state >> 20) % 4) {
        case 0: treadle_thread_remove_value(thread, key); break;
        case 1: treadle_thread_use_value(thread, key, read_value, NULL); break;
        default: {
            struct value *value = calloc(1, sizeof *value);
            value->number = 1;
            atomic_fetch_add(&made, 1);
            treadle_thread_set_value(thread, key, value, free_value); /* freed also if it is refused */
        }
        }
    }
    return NULL;
}
TEST(many_use_one_dictionary, "THR-12 OBJ-6") {
    struct held held;
    pthread_t threads[4];
    treadle_thread thread = held_begin(&held, NULL);
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, fight, thread), 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(pthread_join(threads[i], NULL), 0);
        if (i == 1) gate_open(&held.gate); /* the thread ends while the others go on */
    }
    thread_end(thread);
    CHECK_INT(made, freed);
}

TEST_MAIN()
