/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_node.h: the addon's parts. An environment is Node's main thread or one of its workers: JavaScript is called on its
 * thread alone, by passes of that thread's run loop inside of Node's own loop. What Treadle holds outlives an environment, and
 * then calls nobody: each callback asks first whether the environment is open. */
#ifndef TREADLE_NODE_H
#define TREADLE_NODE_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <treadle-uv.h>

struct binding;

struct environment {
    napi_env env; /* valid while is_open */
    treadle_loop loop;
    treadle_uv_inner *inner; /* Node's loop waits for ours */
    napi_async_cleanup_hook_handle cleanup;
    napi_ref receiver; /* the this of callbacks */
    struct binding *bindings; /* all whose function is referenced */
    int references;           /* of bindings, and of the environment itself */
    int holds;                /* what keeps Node alive */
    int watch;                /* readable when a worker's loop of Node's has a new event; -1 of the main thread */
    bool is_open;
};

/* A function of JavaScript that Treadle calls: an item's, or a post's. Two may refer to it: JavaScript, by an external value, and
 * Treadle. */
struct binding {
    struct environment *environment;
    struct binding *next, **link; /* in the environment's list */
    treadle_object item;          /* NULL of a post */
    napi_ref functions;           /* an object with the functions; NULL once they are let go */
    int references;
};

/* environment.c */
struct environment *open_environment(napi_env env);
void environment_release(struct environment *environment);
napi_value fail(napi_env env, treadle_status status);

/* ending.c */
treadle_status environment_watch(struct environment *environment, uv_loop_t *uv);
void environment_unwatch(struct environment *environment);
bool environment_is_ending(struct environment *environment);
treadle_status environment_run(struct environment *environment, const char *mode, int64_t timeout, uint32_t flags);

/* binding.c */
struct binding *binding_create(struct environment *environment, napi_value functions);
void *binding_retain(void *binding);
void binding_release(void *binding);
void binding_let_go(struct binding *binding);
void binding_call(struct binding *binding, const char *name, size_t count, const uint64_t *numbers);
void binding_call_with_mode(struct binding *binding, const char *name, const char *mode);
napi_value binding_value(struct binding *binding);
struct binding *binding_of(napi_env env, napi_value value);

/* items.c, loops.c */
void export_items(napi_env env, napi_value exports);
void export_loops(napi_env env, napi_value exports);
void export_function(napi_env env, napi_value exports, const char *name, napi_callback callback);

/* Arguments of functions, which JavaScript has checked before. */
enum { MOST_ARGUMENTS = 6 };
struct arguments {
    struct environment *environment;
    napi_value values[MOST_ARGUMENTS];
};
struct arguments arguments_of(napi_env env, napi_callback_info info);
int64_t integer_of(napi_env env, napi_value value);
void text_of(napi_env env, napi_value value, char *text, size_t size);
napi_value result_of(napi_env env, treadle_status status);

#endif
