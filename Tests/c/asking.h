/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * asking.h: the ways of a request and of a post, written into the struct on its way. */
#ifndef ASKING_H
#define ASKING_H

#include "check.h"

/* Sets the ways of a request that is as long as this version's; one that is not stays as it is, to be refused. */
HELPER const treadle_request *with_ways(treadle_request *request, const char *const *modes, size_t count, uint32_t flags, int64_t delay) {
    if (!request || request->struct_size < sizeof *request) return request;
    request->modes = modes, request->mode_count = count;
    request->flags = flags, request->delay_ns = delay;
    return request;
}
HELPER treadle_status perform_on(treadle_object on, treadle_request *request, const char *const *modes, size_t count, uint32_t flags) {
    return treadle_perform(on, with_ways(request, modes, count, flags, 0));
}
HELPER treadle_status perform_on_main(treadle_request *request, const char *const *modes, size_t count, uint32_t flags) {
    return perform_on(treadle_thread_main(), request, modes, count, flags);
}
HELPER treadle_status perform_after(int64_t delay, treadle_request *request, const char *const *modes, size_t count) {
    return treadle_perform(NULL, with_ways(request, modes, count, TREADLE_PERFORM_AFTER, delay));
}
HELPER treadle_status perform_in_background(treadle_request *request) {
    return treadle_perform(NULL, with_ways(request, NULL, 0, TREADLE_PERFORM_IN_BACKGROUND, 0));
}
HELPER treadle_status cancel_target(void *target) {
    return treadle_perform_cancel(&(treadle_request){.struct_size = sizeof(treadle_request), .target = target});
}
/* A host's. */
HELPER treadle_request request_of_host(treadle_host host, uint64_t token) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .host = host, .token = token};
}
HELPER treadle_status host_perform(treadle_host host, uint64_t token, treadle_object on, const char *const *modes, size_t count, uint32_t flags) {
    treadle_request request = request_of_host(host, token);
    return perform_on(on, &request, modes, count, flags);
}
HELPER treadle_status host_perform_invocation(treadle_host host, uint64_t token, treadle_invocation invocation,
                                              const treadle_invocation_options *options) {
    treadle_request request = request_of_host(host, token);
    treadle_invocation_options asked = *options;
    asked.completion = &request;
    return treadle_invocation_perform(invocation, &asked);
}
/* What the rules call a block: the loop is not woken. */
HELPER treadle_status post_block(treadle_loop loop, treadle_post *post) {
    if (post && post->struct_size >= sizeof *post) post->flags = TREADLE_POST_WITHOUT_WAKE;
    return treadle_loop_post_in(loop, post);
}
HELPER treadle_status host_post_block(treadle_host host, uint64_t token, treadle_loop loop, const char *const *modes, size_t count) {
    treadle_post post = {.struct_size = sizeof post, .modes = modes, .mode_count = count, .host = host, .token = token};
    return post_block(loop, &post);
}

#endif
