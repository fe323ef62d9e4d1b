// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// loop.test.js: items, posts and nested runs inside of Node's loop.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const net = require('node:net');
const { loop, treadle, turn } = require('./support.js');
const { Activity, Events, Timer, Source, Observer, Descriptor } = treadle;

/** A promise, and the function that keeps it; the loop keeps Node alive meanwhile. */
function waiting() {
  let resolve;
  loop.ref();
  const over = new Promise((keep) => { resolve = keep; }).finally(() => loop.unref());
  return { over, resolve };
}

test('posts come in their order, between Node\'s callbacks, with microtasks after each', async () => {
  const seen = [];
  const { over, resolve } = waiting();
  for (let i = 0; i < 3; i++) {
    loop.post((number) => {
      seen.push(number);
      Promise.resolve().then(() => seen.push(`micro ${number}`));
      process.nextTick(() => seen.push(`tick ${number}`));
    }, i);
  }
  loop.post(resolve);
  assert.deepStrictEqual(seen, []);
  await over;
  assert.deepStrictEqual(seen, [0, 'tick 0', 'micro 0', 1, 'tick 1', 'micro 1', 2, 'tick 2', 'micro 2']);
});

test('perform brings values and errors back, and keeps Node alive', async () => {
  assert.strictEqual(await loop.perform((a, b) => a + b, 20, 22), 42);
  assert.strictEqual(await loop.perform(async () => 'later'), 'later');
  await assert.rejects(loop.perform(() => { throw new RangeError('over there'); }), /over there/);
});

test('timers fire by date and keep their grid; one that is armed again fires again', async () => {
  const seen = [], dates = [];
  const { over, resolve } = waiting();
  const one = (word, delay) => [word, loop.after(delay, () => seen.push(word)).nextFire];
  // Each delay counts from its own call, so it is the dates that say the order.
  const byDate = [one('c', 3), one('a', 1), one('b', 2)].sort(([, first], [, second]) => (first < second ? -1 : 1));
  let left = 3;
  const again = new Timer((timer) => (seen.push('again'), --left ? timer.arm(1) : resolve()), { endsAfterFiring: false });
  const beat = loop.every(1, (timer) => dates.push(timer.nextFire));
  loop.add(again), again.arm(10);
  await over;
  beat.invalidate(), again.invalidate();
  assert.deepStrictEqual(seen.filter((word) => word !== 'again'), byDate.map(([word]) => word));
  assert.strictEqual(left, 0);
  for (const date of dates) assert.strictEqual((date - dates[0]) % 1000000n, 0n);
  assert.strictEqual(again.arm(1), false);
  assert.strictEqual(beat.isValid, false);
});

test('sources: schedule, perform, cancel, order', async () => {
  const seen = [];
  const make = (word, order) => new Source({
    perform: () => seen.push(word), schedule: (source, mode) => seen.push(`+${mode}`), cancel: (source, mode) => seen.push(`-${mode}`), order,
  });
  const first = make('a', 1), second = make('b', 0);
  assert.strictEqual(loop.add(first, 'x'), true);
  assert.strictEqual(loop.add(first, 'x'), false);
  loop.add(second, 'x');
  first.signal(), second.signal(), first.signal();
  assert.strictEqual(first.isSignalled, true);
  assert.strictEqual(loop.run({ mode: 'x', timeout: 0 }), 'timedOut');
  assert.strictEqual(loop.contains(first, 'x'), true);
  loop.remove(first, 'x'), second.invalidate();
  assert.strictEqual(second.signal(), false);
  assert.deepStrictEqual(seen, ['+x', '+x', 'b', 'a', '-x', '-x']);
  assert.strictEqual(loop.run({ mode: 'x' }), 'finished');
});

test('observers are told of a nested run, and of what Node serves', async () => {
  const seen = [];
  const nested = new Observer((_, activity) => seen.push(activity));
  loop.add(nested, 'x'), loop.after(20, () => seen.push('!'), { mode: 'x' });
  assert.strictEqual(loop.run({ mode: 'x' }), 'finished');
  assert.deepStrictEqual(seen, [Activity.ENTRY, Activity.BEFORE_TIMERS, Activity.BEFORE_SOURCES, Activity.BEFORE_WAITING,
    Activity.AFTER_WAITING, '!', Activity.EXIT]);
  nested.invalidate();
  const once = [];
  loop.on(Activity.ENTRY, (observer, activity) => once.push(activity), { once: true });
  await loop.perform(() => {});
  await loop.perform(() => {});
  assert.deepStrictEqual(once, [Activity.ENTRY]);
});

test('descriptors, beside Node\'s own sockets', async () => {
  const fs = require('node:fs');
  const { over, resolve } = waiting();
  const server = net.createServer((socket) => socket.pipe(socket)).listen(0);
  await new Promise((ready) => server.once('listening', ready));
  const client = net.connect(server.address().port);
  const fifo = `${require('node:os').tmpdir()}/treadle-${process.pid}`;
  require('node:child_process').execFileSync('mkfifo', [fifo]);
  const fd = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
  let lines = 0;
  const reader = loop.reader(fd, (descriptor, events) => {
    assert.ok(events & Events.READABLE);
    fs.readSync(fd, Buffer.alloc(1), 0, 1);
    if (++lines === 50) resolve();
    else client.write('x');
  });
  client.on('data', () => fs.writeSync(fd, 'x'));
  client.write('x');
  await over;
  reader.setEvents(0);
  fs.writeSync(fd, 'x');
  for (let i = 0; i < 3; i++) await turn();
  assert.strictEqual(lines, 50);
  assert.throws(() => loop.reader(fd, () => {}), { code: 'TREADLE_E_EXISTS' });
  reader.invalidate();
  client.destroy(), server.close(), fs.closeSync(fd), fs.unlinkSync(fifo);
});

test('nested runs, and stops from inside', async () => {
  const seen = [];
  await loop.perform(() => {
    loop.after(1, () => seen.push('inner'), { mode: 'x' });
    loop.post(() => seen.push('outer'));
    seen.push(loop.run({ mode: 'x' }));
    loop.after(0, () => loop.stop(), { mode: 'x' });
    seen.push(loop.run({ mode: 'x', whenEmpty: true }));
  });
  await loop.perform(() => {});
  assert.deepStrictEqual(seen, ['inner', 'finished', 'stopped', 'outer']);
  await turn(); // out of the pass, which ended with the promise
  assert.strictEqual(loop.stop(), false);
  loop.requestStop();
  assert.strictEqual(loop.run({ whenEmpty: true }), 'stopped');
  loop.requestStop(); // ends the next pass in Node's loop, which goes on
  assert.strictEqual(await loop.perform(() => 1), 1);
});

test('an idle loop is not served', async () => {
  await loop.perform(() => {});
  await turn();
  const passes = loop.passes;
  for (let i = 0; i < 100; i++) await turn();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(loop.passes - passes <= 5, `${loop.passes - passes} passes`);
});

test('misspelt options are refused by name', () => {
  const unknown = (name, call) => assert.throws(call, { name: 'TypeError', message: new RegExp(`^${name} is no option`) });
  const nothing = () => {};
  unknown('intervall', () => new Timer(nothing, { delay: 1, intervall: 1 }));
  unknown('preform', () => new Source({ preform: nothing }));
  unknown('ones', () => new Observer(nothing, Activity.ALL, { ones: true }));
  unknown('event', () => new Descriptor(0, nothing, { event: 1 }));
  unknown('delay', () => loop.after(1, nothing, { delay: 2 }));
  unknown('endsAfterFiring', () => loop.every(1, nothing, { endsAfterFiring: false }));
  unknown('modes', () => loop.on(Activity.ALL, nothing, { modes: 'x' }));
  unknown('mod', () => loop.reader(0, nothing, { mod: 'x' }));
  unknown('time', () => loop.run({ time: 0 }));
  unknown('all', () => loop.requestStop({ all: true }));
  unknown('all', () => treadle.requestStop(loop.handle, { all: true }));
  unknown('wakes', () => new Source().signal({ wakes: false }));
  unknown('wakes', () => treadle.signal(new Source().handle, { wakes: false }));
  for (const call of [() => new Timer(nothing, 5), () => new Source(null), () => loop.run('x'), () => loop.after(1, nothing, 'x')])
    assert.throws(call, /options is not an object/);
});

test('options that are true or false are nothing else', () => {
  const refused = (name, call) => assert.throws(call, { name: 'TypeError', message: `${name} is neither true nor false` });
  const nothing = () => {};
  for (const value of [0, 1, 'no', {}]) {
    refused('endsAfterFiring', () => new Timer(nothing, { endsAfterFiring: value }));
    refused('endsAfterFiring', () => loop.after(1, nothing, { endsAfterFiring: value }));
    refused('once', () => new Observer(nothing, Activity.ALL, { once: value }));
    refused('whenEmpty', () => loop.run({ mode: 'x', timeout: 0, whenEmpty: value }));
    refused('returnAfterSource', () => loop.run({ mode: 'x', timeout: 0, returnAfterSource: value }));
    refused('allLevels', () => loop.requestStop({ allLevels: value }));
    refused('allLevels', () => treadle.requestStop(loop.handle, { allLevels: value }));
    refused('wake', () => new Source().signal({ wake: value }));
    refused('wake', () => treadle.signal(new Source().handle, { wake: value }));
  }
});

test('bad input is refused, and named', () => {
  assert.throws(() => new Timer(), /fire/);
  assert.throws(() => new Timer(() => {}, { interval: -1 }), RangeError);
  assert.throws(() => new Timer(() => {}, { delay: NaN }), /delay/);
  assert.throws(() => new Descriptor(-1, () => {}), RangeError);
  assert.throws(() => new Descriptor(123456, () => {}), { code: 'TREADLE_E_ARG' });
  assert.throws(() => new Source({ perform: 3 }), /perform/);
  assert.throws(() => new Observer(() => {}, 1.5), /activities/);
  assert.throws(() => loop.add({}), /item/);
  assert.throws(() => loop.add(new Source(), 5), /mode/);
  assert.throws(() => loop.add(new Source(), 'a\0b'), /mode/);
  assert.throws(() => loop.post(), /call/);
  assert.throws(() => treadle.signal(5), /handle/);
  assert.throws(() => treadle.signal(12345n), { code: 'TREADLE_E_STALE' });
  assert.throws(() => treadle.signal(loop.handle), { code: 'TREADLE_E_KIND' });
  assert.throws(() => new treadle.RunLoop(), TypeError);
  assert.throws(() => new Timer(() => {}, { label: 'x'.repeat(300) }), RangeError);
  assert.strictEqual(new Timer(() => {}, { label: 'tea' }).describe().includes('tea'), true);
});
