// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

try RunLoopTimer(after: .milliseconds(100)) { _ in print("fired") }.start()
try RunLoop.current().run()
