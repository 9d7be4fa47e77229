import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoredFrame } from '../store/stored-frame.ts';
import { showStoredFrame } from './frames.ts';
import { LiveTurn } from './live-turn.ts';

const key = { projectId: 'proj_1', smithId: 'smt_1', threadId: 'thr_1', runId: 'run_1', turn: 1, attempt: 1 };

interface Shown {
  readonly seq: number;
  readonly type: string;
  readonly text: string;
}

function readWire(wire: string): Shown {
  const [, json = ''] = /^data: (.*)$/m.exec(wire) ?? [];
  const { seq, type, data } = JSON.parse(json);
  assert.match(wire, new RegExp(`^id: ${seq}\nevent: ${type}\n`));
  return { seq, type, text: data.text ?? '' };
}

/** What a reader has, told from how it came in pieces: the text of each kind, and the other frames with their numbers. */
function gist(frames: readonly Shown[]) {
  const textOf = (type: string) => frames.map((frame) => (frame.type === type ? frame.text : '')).join('');
  return {
    text: textOf('message.delta'),
    reasoning: textOf('reasoning'),
    others: frames.filter(({ text }) => text === '').map(({ seq, type }) => [seq, type]),
  };
}

type Act =
  | { readonly act: 'text' | 'reasoning'; readonly text: string; readonly step: number }
  | { readonly act: 'emit' }
  | {
      readonly act: 'flush';
      readonly outcome: 'stored' | 'failed' | 'stored, but reported as failed';
      /** Text comes while the store works. */
      readonly meanwhile: boolean;
    }
  | { readonly act: 'commit'; readonly stored: boolean };

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ act: fc.constant('text' as const), text: fc.string({ minLength: 1 }), step: fc.nat(1) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        act: fc.constant('reasoning' as const),
        text: fc.string({ minLength: 1 }),
        step: fc.nat(1),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('emit' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        act: fc.constant('flush' as const),
        outcome: fc.constantFrom('stored' as const, 'failed' as const, 'stored, but reported as failed' as const),
        meanwhile: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('commit' as const), stored: fc.boolean() }) },
  ),
  { minLength: 1, maxLength: 60 },
);

test('whatever is stored when, or fails to be, a reader gets from every number exactly what the live one got', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.nat(), async (script, cutSeed) => {
      const live = new LiveTurn(key, 10);
      const heard: Shown[] = [];
      live.listen(({ wire }) => heard.push(readWire(wire)));
      const store: StoredFrame[] = [];
      for (const act of script) await perform(live, act, store);
      live.showText();
      assert.equal(live.seq, heard.at(-1)?.seq ?? 10);
      // A reader has seen nothing, or up to some frame.
      const cut = [10, ...heard.map(({ seq }) => seq)].at(cutSeed % (heard.length + 1)) ?? 10;
      const stored = store
        .filter(({ seq }) => seq > cut)
        .map((frame) => readWire(showStoredFrame('run_1', frame, cut).wire));
      const cursor = stored.at(-1)?.seq ?? Math.max(cut, live.flushedSeq);
      const rest = [...stored, ...live.unflushedAfter(cursor).map(({ wire }) => readWire(wire))];
      assert.deepEqual(gist(rest), gist(heard.filter(({ seq }) => seq > cut)));
      assert.equal(rest.at(-1)?.seq, heard.findLast(({ seq }) => seq > cut)?.seq);
    }),
    { numRuns: 300 },
  );
});

async function perform(live: LiveTurn, act: Act, store: StoredFrame[]): Promise<void> {
  switch (act.act) {
    case 'text':
      return live.emitText('message.delta', act.text, act.step);
    case 'reasoning':
      return live.emitText('reasoning', act.text, act.step);
    case 'emit':
      return live.emit('run.restarted', {});
    case 'flush': {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const frames = live.beginFlush(promise);
      if (act.meanwhile) live.emitText('message.delta', 'meanwhile', 0);
      resolve(act.outcome === 'stored');
      await live.flush;
      if (act.outcome !== 'failed') write(store, frames);
      return;
    }
    case 'commit': {
      const pending = live.takePending([{ type: 'tool.executing', data: {} }]);
      if (act.stored) {
        write(store, pending.frames);
        pending.committed();
      } else {
        pending.putBack();
      }
    }
  }
}

/** As the statement does: a number that is there already stays as it is. */
function write(store: StoredFrame[], frames: readonly StoredFrame[]): void {
  const numbers = new Set(store.map(({ seq }) => seq));
  store.push(...frames.filter(({ seq }) => !numbers.has(seq)));
}

test('frames of a commit are shown once they are stored, and the text before them at the end of the work under way', async () => {
  const live = new LiveTurn(key, 0);
  const heard: string[] = [];
  live.listen(({ type }) => heard.push(type));
  live.emitText('message.delta', 'H', 0);
  live.emitText('message.delta', 'i', 0);
  const pending = live.takePending([{ type: 'run.completed', data: {} }]);
  await new Promise(setImmediate);
  assert.deepEqual(heard, ['message.delta']);
  assert.deepEqual(
    live.unflushedAfter(0).map(({ seq }) => seq),
    [2],
  );
  pending.committed();
  assert.deepEqual(heard, ['message.delta', 'run.completed']);
  assert.deepEqual([live.flushedSeq, live.unflushedAfter(0)], [3, []]);
});

test('deltas of one step merge into one row whose number is the last’s; other frames part them', () => {
  const live = new LiveTurn(key, 0);
  for (const text of ['a', 'b']) live.emitText('message.delta', text, 0);
  live.emitText('reasoning', 'r', 0);
  live.emitText('message.delta', 'c', 1);
  const frames = live.beginFlush(Promise.resolve(true));
  assert.deepEqual(
    frames.map(({ seq, type, data }) => [seq, type, data]),
    [
      [2, 'message.delta', { step: 0, deltas: ['a', 'b'] }],
      [3, 'reasoning', { step: 0, deltas: ['r'] }],
      [4, 'message.delta', { step: 1, deltas: ['c'] }],
    ],
  );
});
