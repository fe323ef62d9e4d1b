/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store_user.c: uses the extension of the plugin "store", and provides one of the same type. */
#define STORE_PLUGIN "org.example.store-user"
#define STORE_PROVIDED "example.user-store/1"
#define STORE_USED STORE_ID
#define COUNTER_PROVIDED
#include "store.c"
