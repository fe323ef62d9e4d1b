/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * library.c: a library that a plugin brings along. It brings another one, which is built from this file as well. With CALLS it
 * calls a function of Treadle, which a loader would find in the program. */
#ifdef INNER
__attribute__((visibility("default"))) int brought_inner(void);
#ifdef CALLS
void *treadle_loop_current(void);
int brought_inner(void) { return treadle_loop_current() ? 40 : 0; }
#else
int brought_inner(void) { return 40; }
#endif
#else
int brought_inner(void);
__attribute__((visibility("default"))) int brought(void);
int brought(void) { return brought_inner() + 2; }
#endif
