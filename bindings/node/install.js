// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Builds the addon with the machine's C compiler and Node's headers, and puts the library beside it. Nothing is downloaded.
//
// TREADLE_LIBRARY names the library; otherwise it is the one that pkg-config knows, or the checkout's, which is built
// first: that compiles what has changed. Without Swift the one that is there is taken. The headers are those of its checkout or prefix.
// TREADLE_NODE_HEADERS names the folder of node_api.h and uv.h.
'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '../..');
const output = path.join(__dirname, 'build');

function fail(message) {
  console.error(`treadle: ${message}`);
  process.exit(1);
}

function run(command, ...words) {
  const result = spawnSync(command, words, { encoding: 'utf8' });
  return result.status === 0 ? result.stdout.trim() : null;
}

/** The first folder that has a file. */
function folderWith(file, folders) {
  return folders.find((folder) => folder && fs.existsSync(path.join(folder, file)));
}

function nodeHeaders() {
  const prefix = path.resolve(path.dirname(fs.realpathSync(process.execPath)), '..');
  const folders = [process.env.TREADLE_NODE_HEADERS, path.join(prefix, 'include/node'), '/usr/include/node', '/usr/include/nodejs/src'];
  const found = folderWith('node_api.h', folders);
  if (!found) fail("Node's headers are missing: install libnode-dev, or name their folder by TREADLE_NODE_HEADERS");
  return [found, folderWith('uv.h', [found, '/usr/include', '/usr/include/nodejs/deps/uv/include'])];
}

function library() {
  if (process.env.TREADLE_LIBRARY) return fs.realpathSync(process.env.TREADLE_LIBRARY);
  const isCheckout = fs.existsSync(path.join(root, 'scripts/build-library'));
  if (!isCheckout) {
    const folder = run('pkg-config', '--variable=libdir', 'treadle');
    if (!folder) fail('no Treadle is installed, and this is no checkout: name libtreadle.so.1 by TREADLE_LIBRARY');
    return fs.realpathSync(path.join(folder, 'libtreadle.so'));
  }
  const built = path.join(root, 'build/lib/libtreadle.so.1');
  if (run(process.env.SWIFT || 'swift', '--version') !== null || !fs.existsSync(built)) {
    const result = spawnSync(path.join(root, 'scripts/build-library'), ['--output', path.dirname(built)], { stdio: 'inherit' });
    if (result.status !== 0) fail('the library could not be built');
  }
  return fs.realpathSync(built);
}

/** The folders of Treadle's headers: the checkout's, those beside the library, or those that pkg-config knows. */
function includes(from) {
  const above = ['..', '../..'].map((up) => path.resolve(path.dirname(from), up));
  for (const folder of [root, ...above]) {
    const headers = ['include', 'bindings/glue'].map((name) => path.join(folder, name)).filter((name) => fs.existsSync(name));
    if (['treadle.h', 'treadle-uv.h'].every((name) => folderWith(name, headers))) return headers.map((name) => `-I${name}`);
  }
  const folder = run('pkg-config', '--variable=includedir', 'treadle');
  if (!folder) fail(`no headers are beside ${from}, and pkg-config knows of none: install Treadle, or name a library of a checkout`);
  return [`-I${folder}`];
}

const folders = nodeHeaders().filter(Boolean);
if (process.argv[2] === '--headers') {
  console.log(folders.join('\n')); // for who compiles another addon
  process.exit(0);
}
const sources = fs.readdirSync(path.join(__dirname, 'src')).filter((name) => name.endsWith('.c'));
const headers = folders.flatMap((folder) => ['-isystem', folder]);
fs.mkdirSync(output, { recursive: true });
const soname = path.join(output, 'libtreadle.so.1');
const temporary = `${soname}.${process.pid}`;
const from = library();
fs.copyFileSync(from, temporary);
fs.renameSync(temporary, soname); // whoever runs with the old one keeps it
const addon = path.join(output, `treadle.${process.pid}`);
const words = ['-std=gnu11', '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-fvisibility=hidden', ...includes(from), ...headers];
const compiler = process.env.CC || 'cc';
const result = spawnSync(
  compiler,
  [...words, ...sources.map((name) => path.join(__dirname, 'src', name)), soname, '-Wl,-rpath,$ORIGIN', '-o', addon],
  { stdio: 'inherit' },
);
if (result.error) fail(`the compiler ${compiler} is missing`);
if (result.status !== 0) fail('the addon could not be compiled');
fs.renameSync(addon, path.join(output, 'treadle.node'));
