// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The list of host tests, in Node.js. TREADLE_NODE is the package's folder, TREADLE_NODE_HELPERS the addon with threads of C.
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { Worker } = require('node:worker_threads');
const treadle = require(process.env.TREADLE_NODE);
const items = require('./node_items.js');

const { Activity, Observer, Source, Timer } = treadle;
const loop = treadle.RunLoop.current();
const seen = [];
const note = (word) => () => seen.push(word);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Serves the loop inside of Node's until it is told that all is over. */
function served(begin) {
  loop.ref();
  return new Promise((resolve) => begin(resolve)).finally(() => loop.unref());
}

const CASES = {
  timers: () => served((over) => {
    const dates = [];
    let left = 5;
    const end = () => { if (--left === 0) over(); };
    // Each delay counts from its own call, so it is the dates that say the order.
    const made = [[30, 'c'], [10, 'a'], [30, 'd'], [20, 'b']].map(([delay, word]) =>
      [word, loop.after(delay, () => { seen.push(word), end(); }).nextFire]);
    CASES.order = made.sort((one, other) => Number(one[1] - other[1])).map(([word]) => word).join('');
    loop.every(1, (timer) => {
      dates.push(timer.nextFire);
      assert.ok(process.hrtime.bigint() >= timer.nextFire);
      if (dates.length === 10) timer.invalidate(), end();
    });
    CASES.dates = dates;
  }).then(() => {
    assert.strictEqual(seen.join(''), CASES.order);
    CASES.dates.forEach((date, i) => assert.ok((date - CASES.dates[0]) % 1000000n === 0n && (i === 0 || date > CASES.dates[i - 1])));
  }),
  source: () => {
    const make = (word, order) => new Source({ perform: note(word), schedule: note('+'), cancel: note('-'), order });
    const [a, b, c] = [make('a', 1), make('b', 0), make('c', 0)];
    for (const source of [a, b, c]) loop.add(source, treadle.DEFAULT);
    assert.ok(loop.add(a, 'other') && !loop.add(a, 'other'));
    for (const source of [a, a, c, b]) source.signal();
    for (let i = 0; i < 2; i++) loop.run({ timeout: 0 });
    for (const source of [a, b, c]) source.invalidate();
    assert.strictEqual(seen.join(''), '++++cba----');
  },
  observer: () => {
    const names = { [Activity.ENTRY]: 'E', [Activity.BEFORE_TIMERS]: 't', [Activity.BEFORE_SOURCES]: 's', [Activity.BEFORE_WAITING]: 'w',
      [Activity.AFTER_WAITING]: 'a', [Activity.EXIT]: 'X' };
    const timer = loop.after(100000, note('!'));
    loop.add(new Observer((_, activity) => {
      seen.push(names[activity]);
      // Not before, or the first pass could fire it.
      if (activity === Activity.BEFORE_WAITING) timer.arm(0);
    }));
    assert.strictEqual(loop.run(), 'finished');
    assert.strictEqual(seen.join(''), 'Etswa!X');
  },
  nested: () => served((over) => {
    loop.after(5, note('n'), { mode: 'other' });
    loop.after(0, () => { seen.push('('), assert.strictEqual(loop.run({ mode: 'other' }), 'finished'), seen.push(')'); });
    loop.after(1, () => { seen.push('o'), over(); });
  }).then(() => assert.strictEqual(seen.join(''), '(n)o')),
  'stop-inside': () => served((over) => loop.after(0, () => {
    loop.after(0, () => loop.stop(), { mode: 'inner' });
    assert.strictEqual(loop.run({ mode: 'inner', whenEmpty: true }), 'stopped');
    over();
  })).then(() => loop.perform(() => {})),
  'stop-outside': async () => {
    const worker = new Worker(`const treadle = require(process.env.TREADLE_NODE), { workerData } = require('node:worker_threads');
      while (!treadle.stop(workerData));`, { eval: true, workerData: loop.handle });
    await new Promise((resolve) => worker.once('online', resolve));
    assert.strictEqual(loop.run({ whenEmpty: true }), 'stopped');
    await new Promise((resolve) => worker.once('exit', resolve));
    treadle.requestStop(loop.handle);
    assert.strictEqual(loop.run({ whenEmpty: true }), 'stopped');
  },
  perform: () => served((over) => {
    const next = new Array(8).fill(0);
    let arrived = 0;
    require(process.env.TREADLE_NODE_HELPERS).postFromThreads(loop.handle, (thread, i) => {
      assert.strictEqual(next[thread]++, i);
      if (++arrived === 100000) over();
    });
  }),
  'wait-value': 'threads of JavaScript share no functions; perform() on the own loop gives a promise',
  'wait-error': 'threads of JavaScript share no functions; perform() on the own loop gives a promise',
  errors: () => served((over) => {
    process.once('uncaughtException', (error) => seen.push(error.message));
    loop.post(() => { throw new Error('escaped'); });
    loop.post(() => { seen.push('on'), over(); });
  }).then(() => assert.deepStrictEqual(seen, ['escaped', 'on'])),
  interrupt: () => served((over) => {
    process.once('SIGINT', over);
    process.kill(process.pid, 'SIGINT');
  }),
  exit: () => {
    for (let i = 0; i < 20; i++) {
      const ended = spawnSync(process.execPath, [__filename, '-leave-busy'], { encoding: 'utf8', timeout: 60000 });
      assert.deepStrictEqual([ended.status, ended.signal, ended.stderr], [0, null, '']);
    }
  },
  fork: 'Node has no fork without a new program',
  growth: async () => {
    const resident = () => Number(fs.readFileSync('/proc/self/statm', 'utf8').split(' ')[1]);
    const make = async (count) => {
      for (let i = 0; i < count; i++) {
        for (const item of [new Source(), new Timer(() => {}, { delay: 1e6 })]) loop.add(item), item.invalidate();
        if (i % 2500 === 0) gc(), await turn();
      }
      for (let i = 0; i < 5; i++) gc(), await turn();
    };
    await make(15000);
    const pages = resident(), descriptors = fs.readdirSync('/proc/self/fd').length;
    await make(50000);
    assert.ok(resident() - pages < 2500, `${resident() - pages} pages`); // a hundred bytes an item: the collector's own room changes
    assert.strictEqual(fs.readdirSync('/proc/self/fd').length, descriptors);
  },
  poll: () => served((over) => {
    const part = () => { if (seen.push('.') === 2) over(); };
    loop.after(5, part);
    const source = new Source({ perform: part });
    loop.add(source);
    new Worker(`const treadle = require(process.env.TREADLE_NODE), { workerData } = require('node:worker_threads');
      treadle.signal(workerData);`, { eval: true, workerData: source.handle });
  }),
  stale: () => {
    const source = new Source({ perform: note('s') });
    loop.add(source), source.signal(), source.invalidate();
    assert.ok(!source.isValid && !source.signal() && !loop.add(source));
    assert.throws(() => treadle.signal(source.handle ^ (1n << 40n)), (error) => error.code.startsWith('TREADLE_E_'));
    assert.throws(() => treadle.signal(loop.handle), { code: 'TREADLE_E_KIND' });
    loop.run({ timeout: 0, whenEmpty: true });
    assert.deepStrictEqual(seen, []);
  },
};

function leaveBusy() {
  let count = 0;
  const source = new Source({ perform: () => { if (++count === 20) process.exit(0); } });
  loop.add(source), loop.ref(), loop.every(0.01, () => {});
  for (let i = 0; i < 2; i++) require(process.env.TREADLE_NODE_HELPERS).signalFromThread(source.handle, -1);
  new Worker(`const treadle = require(process.env.TREADLE_NODE), loop = treadle.RunLoop.current();
    loop.ref().every(0.01, () => {});`, { eval: true });
}

async function main(names) {
  if (names[0] === '-leave-busy') return leaveBusy();
  for (const name of names) {
    const run = CASES[name] ?? items.CASES[name];
    if (typeof run === 'string') {
      console.log(`${name}: not applicable (${run})`);
      continue;
    }
    try {
      await (CASES[name] ? run() : items.play(name));
      console.log(`${name}: pass`);
    } catch (error) {
      console.log(`${name}: fail (${error.stack})`);
      process.exit(1);
    }
  }
  process.exit(0);
}
main(process.argv.slice(2));
