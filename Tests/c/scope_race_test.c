/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_race_test.c: scopes that are closed while threads make things in them, and while these are called: each info is given
 * back once, and nothing is called after that. */
#include "chance.h"
#include "scope_kinds.h"

enum { MAKERS = 2, EACH = 40 };

/* What was made in one scope. */
struct round {
    treadle_scope scope;
    treadle_loop loop;
    struct life lives[MAKERS][EACH];
    bool is_owed[MAKERS][EACH]; /* its release */
    pthread_t threads[MAKERS];
};
struct maker {
    struct round *round;
    int number;
    uint64_t seed;
};
static atomic_int late_calls;
static void note_call(struct life *life) {
    if (life->released) atomic_fetch_add(&late_calls, 1);
}

static void *make_many(void *info) {
    struct maker *maker = info;
    struct round *round = maker->round;
    begin_chance(maker->seed);
    if (treadle_scope_enter(round->scope) != TREADLE_OK) return NULL;
    for (int i = 0; i < EACH; i++) {
        const struct scope_kind *kind = &scope_kinds[chance(KINDS)];
        struct life *life = &round->lives[maker->number][i];
        if (kind->make == make_a_notification && chance(4)) kind = &scope_kinds[0];
        life_begin(life, kind->how == BY_OWN_LOOP ? treadle_loop_current() : round->loop, TREADLE_DEFAULT_MODE);
        life->in_callback = note_call;
        treadle_scope_holder holders[4];
        if (chance(16) == 0) treadle_scope_copy_holders(round->scope, holders, sizeof(treadle_scope_holder), 4, &(size_t){0});
        treadle_status status = kind->make(life);
        round->is_owed[maker->number][i] = status == TREADLE_OK || kind->is_given_back;
        if (status != TREADLE_OK && status != TREADLE_E_CLOSED) check_failed(__FILE__, __LINE__, "a %s: %d", kind->name, status);
        if (status == TREADLE_E_CLOSED) break;
        if (chance(4) == 0) treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
        if (life->object && chance(4) == 0) treadle_retain(life->object);
        if (life->object && chance(4) == 0) treadle_release(life->object);
    }
    treadle_scope_leave(round->scope);
    return NULL;
}

static void *close_it(void *scope) {
    treadle_scope_holder holders[8];
    if (treadle_scope_close(scope, SECONDS(10)) == TREADLE_OK) return NULL;
    int count = holders_of(scope, holders, 8);
    for (int i = 0; i < count && i < 8; i++) fprintf(stderr, "kind %u, thread %d, %s\n", holders[i].kind, holders[i].thread_id, holders[i].label);
    check_failed(__FILE__, __LINE__, "the scope was not closed: %d holders", count);
}

TEST(scopes_are_closed_while_they_are_filled, "SCOPE-1 SCOPE-2 SCOPE-3") {
    struct worker worker;
    choose_seed();
    begin_chance(0);
    worker_start(&worker);
    for (int n = 0; n < scaled(400) && rounds_go_on(); n++) {
        static struct round round;
        struct maker makers[MAKERS];
        atomic_int destroyed = 0;
        memset(&round, 0, sizeof round);
        round.scope = make_scope(&destroyed);
        round.loop = worker.loop;
        for (int i = 0; i < MAKERS; i++) {
            makers[i] = (struct maker){&round, i, (uint64_t)n * MAKERS + (uint64_t)i + 1};
            CHECK_INT(pthread_create(&round.threads[i], NULL, make_many, &makers[i]), 0);
        }
        linger(MICROSECONDS(chance(1000)));
        pthread_t closer;
        bool has_closer = chance(2);
        if (has_closer) CHECK_INT(pthread_create(&closer, NULL, close_it, round.scope), 0);
        close_it(round.scope);
        if (has_closer) CHECK_INT(pthread_join(closer, NULL), 0);
        CHECK_INT(destroyed, 1);
        for (int i = 0; i < MAKERS; i++) CHECK_INT(pthread_join(round.threads[i], NULL), 0);
        for (int i = 0; i < MAKERS; i++)
            for (int k = 0; k < EACH; k++) {
                struct life *life = &round.lives[i][k];
                if (life->released != round.is_owed[i][k])
                    check_failed(__FILE__, __LINE__, "round %d: thing %d of maker %d was released %d times", n, k, i, life->released);
                life_end(life);
            }
        CHECK_INT(treadle_release(round.scope), TREADLE_OK);
    }
    CHECK_INT(late_calls, 0);
    worker_stop(&worker);
}

TEST_MAIN()
