// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What several tests need: the addon, the one with threads of C, programs of their own.
'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const folder = path.resolve(__dirname, '..');
const helpers = path.join(folder, 'build/helpers.node');

exports.treadle = require('..');
exports.loop = exports.treadle.RunLoop.current();
/** Whoever is waited for under this is waited for by an event: the test runner's limit of time ends what hangs. */
exports.turn = () => new Promise((resolve) => setImmediate(resolve));

/** The addon with threads of C: compiled by scripts/test-node, which says where. */
exports.helpers = () => require(process.env.TREADLE_NODE_HELPERS ?? helpers);

/** Runs a program in a process of its own; what it printed, and how it ended. */
exports.run = (text, ...words) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'treadle-node-'));
  const file = path.join(directory, 'program.js');
  fs.writeFileSync(file, `'use strict';\nconst treadle = require(${JSON.stringify(folder)});\nconst loop = treadle.RunLoop.current();\n${text}`);
  const result = spawnSync(process.execPath, [...words, file], { encoding: 'utf8', timeout: 100000 });
  fs.rmSync(directory, { recursive: true });
  return { status: result.status, signal: result.signal, output: result.stdout, errors: result.stderr };
};
