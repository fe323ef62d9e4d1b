/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Random programs of CFFileDescriptor beside a model: both kinds, armed and disarmed, hung up and full, in two modes, from
 * inside of callbacks. */
#include "descriptor_model.h"

TEST(random_descriptors_match_the_model, "FD-1 FD-2 FD-3 FD-4 FD-5 FD-6 FD-7 FD-8 SRC1-5 SRC1-9") { play_seeds(500); }

TEST_MAIN()
