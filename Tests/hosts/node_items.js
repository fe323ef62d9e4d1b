// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The list of host tests, in Node.js: runs, modes, items and posts. Each case has a mode of its own name, in runs inside of Node's loop.
'use strict';

const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const treadle = require(process.env.TREADLE_NODE);

const { Activity, Descriptor, Events, Observer, Source, Timer } = treadle;
const loop = treadle.RunLoop.current();
let mode, seen, ends;
const note = (word) => () => seen.push(word);
const said = (text) => assert.strictEqual(seen.join(''), text);
const atEnd = (end) => ends.unshift(end);
const pass = (of = mode) => loop.run({ mode: of, timeout: 0, whenEmpty: true });
function added(item) {
  loop.add(item, mode);
  atEnd(() => item.invalidate());
  return item;
}
const source = (word) => added(new Source({ perform: note(word) }));

/** A pipe with a name: what reads it, what writes it. */
function pipe() {
  const name = `${fs.mkdtempSync(`${require('node:os').tmpdir()}/treadle-`)}/pipe`;
  execFileSync('mkfifo', [name]);
  const opened = [fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK), fs.openSync(name, fs.constants.O_WRONLY)];
  atEnd(() => (fs.closeSync(opened[0]), fs.rmSync(name.slice(0, -5), { recursive: true })));
  return opened;
}
const watched = (fd) => new Descriptor(fd, (_, events) => seen.push(events & Events.READABLE ? 'r' : 'h'));

const WORKERS = 'the threads of Node are its workers, which share no objects';
const CASES = {
  empty: () => {
    const began = process.hrtime.bigint();
    assert.strictEqual(loop.run({ mode }), 'finished');
    assert.strictEqual(loop.run({ mode, timeout: 1, whenEmpty: true }), 'timedOut');
    assert.ok(process.hrtime.bigint() >= began + 1000000n);
  },
  'time-limit': () => {
    const began = process.hrtime.bigint();
    source('s').signal();
    assert.strictEqual(loop.run({ mode, timeout: 0 }), 'timedOut');
    said('s');
    assert.strictEqual(loop.run({ mode, timeout: 5 }), 'timedOut');
    assert.ok(process.hrtime.bigint() >= began + 5000000n);
  },
  handled: () => {
    source('s').signal();
    assert.strictEqual(loop.run({ mode, returnAfterSource: true }), 'handledSource');
    said('s');
  },
  'stop-nothing': () => {
    assert.strictEqual(loop.stop(), false);
    assert.strictEqual(pass(), 'timedOut');
  },
  'stop-all': () => {
    added(new Timer(() => {
      loop.requestStop({ allLevels: true });
      assert.strictEqual(loop.run({ mode: 'inner', whenEmpty: true }), 'stopped');
      seen.push('inner');
    }, { delay: 0 }));
    assert.strictEqual(loop.run({ mode, whenEmpty: true }), 'stopped');
    said('inner');
  },
  wake: () => {
    added(new Observer(() => (seen.push('w') < 3 ? loop.wake() : loop.stop()), Activity.BEFORE_WAITING));
    assert.strictEqual(loop.run({ mode, whenEmpty: true }), 'stopped');
    said('www');
  },
  modes: () => {
    const one = source('s');
    assert.ok(!loop.add(one, mode) && loop.contains(one, mode) && !loop.contains(one, 'other'));
    one.signal();
    pass('other');
    said('');
    assert.strictEqual(pass(), 'timedOut');
    said('s');
    assert.ok(loop.remove(one, mode) && !loop.remove(one, mode) && !loop.contains(one, mode));
  },
  common: 'the package has one common mode, which Node serves',
  'two-loops': WORKERS,
  invalid: () => {
    const one = source('s');
    one.signal();
    assert.ok(one.invalidate() && !one.invalidate());
    assert.ok(!one.isValid && !one.isSignalled && !loop.contains(one, mode) && !one.signal() && !loop.add(one, mode));
    assert.strictEqual(loop.run({ mode }), 'finished');
    said('');
  },
  'end-other': () => {
    const both = [0, 1].map(() => added(new Timer(() => (seen.push('t'), both.forEach((one) => one.invalidate())), { delay: 0 })));
    assert.strictEqual(loop.run({ mode }), 'finished');
    said('t');
  },
  'signal-kept': () => {
    const one = new Source({ perform: note('s') });
    one.signal();
    assert.ok(one.isSignalled);
    added(one);
    assert.strictEqual(pass(), 'timedOut');
    said('s');
  },
  coalesce: () => {
    const one = source('s');
    for (let i = 0; i < 3; i++) one.signal();
    assert.ok(one.isSignalled);
    for (let i = 0; i < 2; i++) pass();
    assert.ok(!one.isSignalled);
    said('s');
  },
  'self-signal': () => {
    for (const word of 'ab') added(new Source({ perform: (own) => (seen.push(word), own.signal()) })).signal();
    for (let i = 0; i < 3; i++) pass();
    said('ababab');
  },
  'timer-again': () => {
    const timer = added(new Timer((own) => { if (seen.push('t') === 1) own.arm(0.001); }, { delay: 0, endsAfterFiring: false }));
    assert.strictEqual(loop.run({ mode }), 'finished');
    said('tt');
    assert.ok(timer.isValid && timer.isIdle && timer.nextFire === 0n && timer.arm(0.001));
    assert.strictEqual(loop.run({ mode }), 'finished');
    said('ttt');
  },
  'timer-none': () => {
    const timer = added(new Timer(note('t'), { delay: 1e6 }));
    assert.strictEqual(loop.run({ mode, timeout: 0 }), 'timedOut');
    timer.arm(Infinity);
    assert.strictEqual(loop.run({ mode }), 'finished');
    said('');
  },
  'timer-ends': () => {
    const timer = added(new Timer((own) => seen.push(own.isValid), { delay: 0 }));
    assert.strictEqual(loop.run({ mode }), 'finished');
    assert.ok(!timer.isValid && !timer.arm(0));
    said('true');
  },
  'timer-moved': WORKERS,
  'timer-by-hand': 'the package fires no timers by hand',
  'observer-once': () => {
    const observer = added(new Observer(note('o'), Activity.ALL, { once: true }));
    for (let i = 0; i < 2; i++) pass();
    assert.ok(!observer.isValid);
    said('o');
  },
  'observer-order': () => {
    const both = Activity.ENTRY | Activity.EXIT;
    for (const [word, activities, order] of [['a', both, 1], ['b', both, 0], ['c', Activity.ENTRY, 0]])
      added(new Observer(note(word), activities, { order }));
    pass();
    said('bcaba');
  },
  'descriptor-ready': () => {
    const [reads, writes] = pipe();
    added(watched(reads));
    pass();
    said('');
    fs.writeSync(writes, 'x');
    for (let i = 0; i < 2; i++) pass();
    said('rr');
    fs.readSync(reads, Buffer.alloc(1));
    pass();
    said('rr');
    fs.closeSync(writes);
  },
  'descriptor-paused': () => {
    const [reads, writes] = pipe();
    const descriptor = added(watched(reads));
    fs.writeSync(writes, 'x');
    descriptor.setEvents(0);
    assert.strictEqual(loop.run({ mode, timeout: 0 }), 'timedOut');
    said('');
    descriptor.setEvents(Events.READABLE);
    pass();
    said('r');
    fs.closeSync(writes);
  },
  'descriptor-end': () => {
    const [reads, writes] = pipe();
    added(watched(reads));
    fs.closeSync(writes);
    pass();
    assert.strictEqual(seen.length, 1);
  },
  'descriptor-twice': () => {
    const [reads, writes] = pipe(), second = watched(reads);
    added(watched(reads));
    assert.throws(() => loop.add(second, mode), { code: 'TREADLE_E_EXISTS', message: /fd/ });
    second.invalidate();
    fs.closeSync(writes);
  },
  'descriptor-closed': () => assert.throws(() => watched(123456), { code: 'TREADLE_E_ARG', message: /fd/ }),
  'post-modes': 'the posts of the package are for the common modes',
  'post-inside': () => {
    loop.post(() => { seen.push('a'), loop.post(note('c')); });
    loop.post(note('b'));
    for (let i = 0; i < 2; i++) pass(treadle.DEFAULT);
    said('abc');
  },
  describe: () => {
    const one = new Source({ label: 'bell' });
    assert.ok(one.describe().startsWith('source "bell"') && !one.describe().includes('invalid'));
    one.invalidate();
    assert.ok(one.describe().includes('bell') && one.describe().includes('invalid'));
  },
  label: () => assert.throws(() => new Source({ label: 'x'.repeat(256) }), { name: 'RangeError', message: /label/ }),
  refused: () => assert.throws(() => new Timer(() => {}, { interval: -1 }), { name: 'RangeError', message: /interval/ }),
};
for (const name of ['thread-order', 'thread-closed', 'thread-at-once', 'deadlock', 'thread-of-loop', 'values', 'close']) CASES[name] = WORKERS;
for (const name of ['message', 'reply', 'port-full', 'port-ended']) CASES[name] = 'the package has no ports';
for (const name of ['scope', 'scope-closed']) CASES[name] = 'the package has no scopes';
CASES.closure = 'the package has no closures';

/** Plays a case in its mode, which it leaves empty. */
function play(name) {
  [mode, seen, ends] = [name, [], []];
  try { CASES[name](); } finally { for (const end of ends) end(); }
}

module.exports = { CASES, play };
