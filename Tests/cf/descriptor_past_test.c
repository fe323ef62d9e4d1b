/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Random programs of CFFileDescriptor beside a model, with numbers that have a past: watched by several objects one after
 * the other, closed while armed with and without a copy open, brought back by dup2 for the same file or another. */
#include "descriptor_model.h"

TEST(random_descriptors_with_a_past_match_the_model, "SRC1-7 SRC1-8 SRC1-11 FD-2 FD-3 FD-6 FD-8") {
    has_pasts = 1;
    play_seeds(500);
}

TEST_MAIN()
