/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * interface.h: nothing: pkg-config tells where treadle.h is. */
