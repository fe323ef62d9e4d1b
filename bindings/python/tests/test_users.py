# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Users whom a user namespace does not map."""

from __future__ import annotations

import subprocess
import sys
import unittest

from treadle import _capi

from support import TestCase, environment


class Users(TestCase):
    def test_a_user_that_may_be_any_has_no_port_and_no_file(self) -> None:
        """MSG-9 PLUG-1: in a user namespace without a map, all users look like the process's own."""
        unmapped = ["unshare", "--user"]
        if subprocess.run([*unmapped, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no user namespace here")
        script = """if True:
            import sys, treadle
            def refused(function, *arguments, **options):
                try:
                    function(*arguments, **options)
                except treadle.Error as error:
                    print(error.code, "do" if "user" in str(error) else error)
            refused(treadle.MessagePort.local, sys.argv[1], print, pickle=True)
            refused(treadle.MessagePort.remote, sys.argv[1], pickle=True)
            refused(treadle.Plugin.load, sys.argv[2])"""
        result = subprocess.run(
            [*unmapped, sys.executable, "-c", script, "treadle.test.users", __file__],
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
        refusals = [_capi.E_NOT_SUPPORTED, _capi.E_NOT_SUPPORTED, _capi.E_PLUGIN]
        self.assertEqual(result.stdout.splitlines(), [f"{code} do" for code in refusals], result.stderr)


if __name__ == "__main__":
    unittest.main()
