/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * library.c: a library that a plugin brings along. It brings another one, which is built from this file as well. */
#ifdef INNER
__attribute__((visibility("default"))) int brought_inner(void);
int brought_inner(void) { return 40; }
#else
int brought_inner(void);
__attribute__((visibility("default"))) int brought(void);
int brought(void) { return brought_inner() + 2; }
#endif
