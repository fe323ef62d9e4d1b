/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * names.h: nothing: pkg-config tells where CoreFoundation's names are. */
