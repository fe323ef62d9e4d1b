// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// process.test.js: exceptions, ends of processes and workers, threads of C, memory.
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { loop, treadle, helpers, run, turn } = require('./support.js');

const helper = JSON.stringify(path.resolve(process.env.TREADLE_NODE_HELPERS ?? path.join(__dirname, '../build/helpers.node')));

test('signals of threads of C by the hundred thousand: none is lost', async () => {
  const { signalFromThread, take } = helpers();
  let seen = 0;
  loop.ref();
  await new Promise((resolve) => {
    const source = new treadle.Source({
      perform: () => {
        seen += take();
        if (seen === 400000) source.invalidate(), resolve();
      },
    });
    loop.add(source);
    for (let i = 0; i < 4; i++) signalFromThread(source.handle, 100000);
  });
  loop.unref();
  assert.strictEqual(seen, 400000);
});

test('posts of threads of C by the hundred thousand: all arrive, those of each thread in order', async () => {
  const next = new Array(8).fill(0);
  let arrived = 0;
  loop.ref();
  await new Promise((resolve) => {
    helpers().postFromThreads(loop.handle, (thread, i) => {
      assert.strictEqual(next[thread]++, i);
      if (++arrived === 100000) resolve();
    });
  });
  loop.unref();
  assert.deepStrictEqual(next, new Array(8).fill(12500));
});

test('what C adds to a loop of its own is not called there', async () => {
  let calls = 0;
  let source = new treadle.Source({ perform: () => calls++ });
  helpers().runElsewhere(source.handle);
  assert.strictEqual(calls, 0);
  source = null;
  await loop.perform(() => {});
});

for (const [kind, text] of Object.entries({
  post: "loop.post(fail); loop.ref();",
  timer: "loop.after(1, fail); loop.ref();",
  source: "const s = new treadle.Source({ perform: fail }); loop.add(s); s.signal(); loop.ref();",
  observer: "loop.on(treadle.Activity.ENTRY, fail, { once: true }); loop.post(() => {}); loop.ref();",
  descriptor: "loop.reader(require('node:fs').openSync(__filename), (d) => { d.invalidate(); fail(); }); loop.ref();",
  schedule: "loop.post(() => loop.add(new treadle.Source({ schedule: fail }))); loop.ref();",
  cancel: "loop.post(() => { const s = new treadle.Source({ cancel: fail }); loop.add(s); s.invalidate(); }); loop.ref();",
})) {
  test(`an exception in the callback of a ${kind} is one that nobody caught`, () => {
    const program = `const fail = () => { throw new Error('escaped'); };\n${text}\n`;
    const ended = run(program);
    assert.strictEqual(ended.status, 1, ended.errors);
    assert.match(ended.errors, /Error: escaped/);
    const caught = run(`process.on('uncaughtException', (error) => {
      console.log(error.message);
      loop.perform(() => console.log('on')).then(() => loop.unref());
    });\n${program}`);
    assert.deepStrictEqual([caught.status, caught.output, caught.errors], [0, 'escaped\non\n', '']);
  });
}

test('what is in a loop keeps Node not alive, unless somebody asks', () => {
  assert.deepStrictEqual(run("loop.every(1, () => {}); loop.post(() => console.log('never, or once'));").status, 0);
  const kept = run("loop.ref(); loop.after(20, () => { console.log('fired'); loop.unref(); });");
  assert.deepStrictEqual([kept.status, kept.output], [0, 'fired\n']);
  const asked = run("loop.perform(() => 5).then(console.log);");
  assert.deepStrictEqual([asked.status, asked.output], [0, '5\n']);
});

test('processes end well while threads of C are busy', () => {
  for (let i = 0; i < 10; i++) {
    const ended = run(`
      const { signalFromThread } = require(${helper});
      let seen = 0;
      const source = new treadle.Source({ perform: () => { if (++seen === 50) ${i % 2 ? 'process.exit(3)' : '{ process.exitCode = 3; loop.unref(); }'}; } });
      loop.add(source), loop.ref();
      loop.every(0.01, () => {});
      for (let i = 0; i < 2; i++) signalFromThread(source.handle, -1);`);
    assert.deepStrictEqual([ended.status, ended.signal, ended.errors], [3, null, '']);
  }
});

test('each worker has a loop of its own, and ends well, however it ends', async () => {
  const text = `
    const { parentPort, workerData } = require('node:worker_threads');
    const treadle = require(${JSON.stringify(path.resolve(__dirname, '..'))});
    const loop = treadle.RunLoop.current();
    const source = new treadle.Source({ perform: () => { parentPort.postMessage('signalled'); loop.unref(); timer.invalidate(); } });
    const timer = loop.every(1, () => treadle.signal(workerData));
    loop.add(source), loop.ref();
    parentPort.postMessage([loop.handle, source.handle]);
    loop.post(() => { if (process.argv[2] === 'throws') throw new Error('escaped'); });`;
  for (let i = 0; i < 12; i++) {
    const way = ['signalled', 'terminated', 'throws'][i % 3];
    let told = 0;
    loop.ref();
    const own = new treadle.Source({ perform: () => told++ });
    loop.add(own);
    const worker = new Worker(text, { eval: true, workerData: own.handle, argv: [way] });
    const ends = new Promise((resolve) => worker.once('exit', resolve));
    let error = null, messages = 0;
    worker.on('error', (what) => { error = what; });
    worker.on('message', (message) => {
      messages++;
      if (message === 'signalled') return;
      assert.notStrictEqual(message[0], loop.handle);
      if (way === 'signalled') treadle.signal(message[1]);
      if (way === 'terminated') worker.terminate();
    });
    assert.strictEqual(await ends, way === 'signalled' ? 0 : 1);
    assert.strictEqual(error?.message, way === 'throws' ? 'escaped' : undefined);
    if (way === 'signalled') assert.strictEqual(messages, 2);
    own.invalidate();
    loop.unref();
  }
});

for (const [way, text] of Object.entries({
  'that sleeps in a callback': "loop.post(() => { runs(); loop.run({ mode: 'x', whenEmpty: true }); });",
  'that sleeps at the top of its program': "runs(); loop.run({ mode: 'x', whenEmpty: true }); parentPort.postMessage('over');",
  'that waits for a timer': "loop.post(() => { runs(); loop.after(1e7, () => {}, { mode: 'x' }); loop.run({ mode: 'x' }); });",
  'inside of another': `loop.post(() => {
    loop.after(0, () => { runs(); loop.run({ mode: 'y', whenEmpty: true }); }, { mode: 'x' });
    loop.run({ mode: 'x', whenEmpty: true });
  });`,
  'of C code that asks Node': "loop.post(() => { runs(); require(process.env.TREADLE_NODE_HELPERS).runInC('x'); });",
  'that is busy': "loop.post(() => { loop.every(0.1, runs, { mode: 'x' }); loop.run({ mode: 'x' }); });",
})) {
  test(`a nested run ${way} ends when its worker is terminated, and not by a message`, async () => {
    const worker = new Worker(`
      const { parentPort } = require('node:worker_threads');
      const treadle = require(${JSON.stringify(path.resolve(__dirname, '..'))});
      const loop = treadle.RunLoop.current().ref(), runs = () => parentPort.postMessage(loop.handle);
      parentPort.on('message', () => {});
      ${text}`, { eval: true });
    const { isWaiting } = helpers(), seen = [];
    const ends = new Promise((resolve) => worker.once('exit', resolve));
    const handle = await new Promise((resolve) => worker.on('message', (message) => (seen.push(message), resolve(message))));
    const asleep = async () => { while (!way.includes('busy') && !isWaiting(handle)) await turn(); };
    await asleep();
    for (let i = 0; i < 3; i++) worker.postMessage(i);
    await asleep();
    assert.strictEqual(await worker.terminate(), 1);
    assert.strictEqual(await ends, 1);
    assert.deepStrictEqual(seen.filter((message) => message !== handle), []);
  });
}

test('items that are dropped cost nothing', () => {
  const ended = run(`
    const fs = require('node:fs');
    const resident = () => Number(fs.readFileSync('/proc/self/statm', 'utf8').split(' ')[1]);
    const settle = async () => { for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setImmediate(resolve)); } };
    const make = async (count) => {
      for (let i = 0; i < count; i++) {
        const source = new treadle.Source({ perform: () => {} });
        loop.add(source), source.invalidate();
        loop.after(1e6, () => {}).invalidate();
        new treadle.Timer(() => {});
        if (i % 5000 === 0) await settle();
      }
      await settle();
    };
    (async () => {
      await make(20000);
      const before = resident(), descriptors = fs.readdirSync('/proc/self/fd').length;
      await make(35000);
      console.log(resident() - before < 2000, fs.readdirSync('/proc/self/fd').length - descriptors);
    })();`, '--expose-gc');
  assert.deepStrictEqual([ended.status, ended.output, ended.errors], [0, 'true 0\n', '']);
});

test('items that are over are collected, also where their functions refer to them', () => {
  const ended = run(`
    const fd = require('node:fs').openSync(__filename);
    const makers = {
      'source, invalidated': () => { const item = new treadle.Source({ perform: () => item }); loop.add(item), item.invalidate(); return item; },
      'source, removed': () => { const item = new treadle.Source({ perform: () => item }); loop.add(item), loop.remove(item); return item; },
      'source, in no mode': () => { const item = new treadle.Source({ perform: () => item }); return item; },
      'timer, invalidated': () => { const item = loop.after(1e6, () => item); item.invalidate(); return item; },
      'timer, fired': () => { const item = loop.after(0, () => item); return item; },
      'timer, fired and idle': () => { const item = loop.after(0, () => item, { endsAfterFiring: false }); return item; },
      'timer, armed as it ends': () => { const item = loop.after(0, () => item.arm(0)); return item; },
      'timer, fired twice': () => {
        const item = loop.after(0, () => { if (!item.again) item.again = item.arm(0); }, { endsAfterFiring: false });
        return item;
      },
      'observer, invalidated': () => { const item = loop.on(1, () => item); item.invalidate(); return item; },
      'observer, once': () => { const item = loop.on(1, () => item, { once: true }); return item; },
      'descriptor, invalidated': () => { const item = loop.reader(fd, () => item); item.invalidate(); return item; },
    };
    (async () => {
      loop.ref();
      for (const [kind, make] of Object.entries(makers)) {
        const made = (() => Array.from({ length: 500 }, () => new WeakRef(make())))();
        const count = () => made.filter((item) => item.deref()).length;
        // The engine may keep the last of them for some rounds; what refers to itself stays for any number.
        let left = 500;
        for (let i = 0; i < 200 && left; i++) {
          await loop.perform(() => {});
          gc();
          await new Promise((resolve) => setImmediate(resolve));
          left = count();
        }
        if (left) console.log(kind, left);
      }
      loop.unref();
    })();`, '--expose-gc');
  assert.deepStrictEqual([ended.status, ended.output, ended.errors], [0, '', '']);
});

test('what only the loop has is called, with what its class has', () => {
  const ended = run(`
    class Counted extends treadle.Timer {
      count = 0;
      constructor() { super((timer) => { if (++timer.count === 3) timer.invalidate(), loop.unref(), console.log('three'); }, { interval: 5 }); }
    }
    loop.ref();
    (() => loop.add(new Counted()))();
    const collect = setInterval(gc, 1);
    collect.unref();`, '--expose-gc');
  assert.deepStrictEqual([ended.status, ended.output, ended.errors], [0, 'three\n', '']);
});
