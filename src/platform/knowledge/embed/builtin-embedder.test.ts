import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../../../../test/support/turns.ts';
import { ChildTimedOutError } from '../../../kernel/child-process/child-errors.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { createMetrics } from '../../../kernel/metrics/metrics.ts';
import { createBuiltinEmbedder, DEFAULT_BUILTIN_LIMITS, type EmbedChild, startEmbedChild } from './builtin-embedder.ts';

const shared = createBuiltinEmbedder();
after(() => shared.close());

const bytesOf = (vector: Float32Array) => Buffer.from(vector.slice().buffer).toString('hex');

async function embedOne(text: string): Promise<Float32Array> {
  const { vectors } = await shared.embed('p', [text]);
  const [vector] = vectors;
  assert.ok(vector !== undefined);
  return vector;
}

function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

function refusal(code: string) {
  return (error: unknown) => error instanceof ApiError && error.code === code;
}

const TOPICS = ['cats', 'rivers', 'the harvest', 'a railway', 'income tax', 'old songs', 'winter storms'];
function sentenceOf(index: number): string {
  const words = TOPICS[index % TOPICS.length];
  return `Report ${index} is about ${words}${' and what follows from it'.repeat(index % 5)}.`;
}
/** More than the model reads at once: each piece of it is a sentence. With 50 of them it takes several passes. */
function longText(from: number, sentences = 50): string {
  return Array.from({ length: sentences }, (_, index) => sentenceOf(from + index)).join(' ');
}

describe('a vector', () => {
  test('is the same to the bit however its text was batched', async () => {
    const texts = [
      ...Array.from({ length: 5 }, (_, index) => sentenceOf(index)),
      longText(3, 12),
      ' ',
      '日本語',
      '😀\ud800',
      'x'.repeat(1_100),
    ];
    const alone: string[] = [];
    for (const text of texts) alone.push(bytesOf(await embedOne(text)));
    const { vectors } = await shared.embed('p', texts);
    assert.deepEqual(vectors.map(bytesOf), alone);
    // In another order, among the requests of other projects.
    const mixed = await Promise.all(
      ['q', 'r'].map((project, shift) => {
        const order = texts.map((_, index) => (index * 7 + shift) % texts.length);
        return shared
          .embed(
            project,
            order.map((index) => texts[index] ?? ''),
          )
          .then((result) => ({ order, result }));
      }),
    );
    for (const { order, result } of mixed) {
      assert.deepEqual(
        result.vectors.map(bytesOf),
        order.map((index) => alone[index]),
      );
    }
  });

  test('has unit length', async () => {
    for (const text of ['one', longText(1, 12), ' ', '日本語'])
      assert.ok(Math.abs(Math.hypot(...(await embedOne(text))) - 1) < 1e-6);
  });

  test('is nearer to what means the same', async () => {
    const [cat, kitten, tax] = [await embedOne('a cat sat'), await embedOne('kitten'), await embedOne('tax law')];
    assert.ok(similarity(cat, kitten) > similarity(cat, tax) + 0.2);
  });

  test('of a long text knows of its end', async () => {
    const filler = Array.from({ length: 25 }, () => 'The committee met on Tuesday and adopted the agenda.').join(' ');
    const end = Array.from({ length: 25 }, () => 'Penguins breed on the ice of Antarctica.').join(' ');
    const query = await embedOne('Where do penguins live?');
    const [without, whole] = [await embedOne(`${filler} ${filler}`), await embedOne(`${filler} ${end}`)];
    assert.ok(similarity(query, whole) > similarity(query, without) + 0.1);
  });

  test('counts the tokens of every part of its text', async () => {
    const text = longText(0, 12);
    const [half, whole] = [await shared.embed('p', [text]), await shared.embed('p', [text, text])];
    assert.ok(half.tokens > 128, `${half.tokens}`);
    assert.equal(whole.tokens, 2 * half.tokens);
  });
});

describe('the child', () => {
  const STUCK = new URL('data:text/javascript,export const answer = () => { for (;;); }');
  /** Stands for the model where nothing depends on what it says: the model itself takes seconds to load. */
  const READY = new URL(
    'data:text/javascript,export const answer = () => ({ vectors: new Float32Array(512), tokens: 7 })',
  );
  /** Its vectors tell which text they are of. */
  const COUNTING = new URL(
    'data:text/javascript,export const answer = ({ texts }) => ({ vectors: new Float32Array(512).fill(texts[0].length), tokens: 1 })',
  );
  const stalls = { stallMs: 300, pingIntervalMs: 50 };

  /** An embedder whose children the test can reach. */
  function observe(limits = {}, start = () => startEmbedChild()) {
    const children: EmbedChild[] = [];
    const embedder = createBuiltinEmbedder({ ...DEFAULT_BUILTIN_LIMITS, ...limits }, () => {
      const child = start();
      children.push(child);
      return child;
    });
    return { children, embedder };
  }

  test('the builtin embedder starts its child for a request, ends it when it is idle, and starts another', async () => {
    const { children, embedder } = observe({ idleMs: 20 }, () => startEmbedChild(READY));
    assert.equal(children.length, 0);
    const first = await embedder.embed('p', ['one']);
    await eventually(() => children[0]?.gone.aborted || undefined, 'the idle child is ended');
    const second = await embedder.embed('p', ['one']);
    assert.equal(children.length, 2);
    assert.deepEqual(second.vectors, first.vectors);
    await embedder.close();
  });

  test('that dies is replaced, and its requests are answered', async () => {
    const { children, embedder } = observe({}, () => startEmbedChild(COUNTING));
    const wanted = await embedder.embed('p', ['one']);
    const asked = Promise.all([embedder.embed('p', ['a long text']), embedder.embed('p', ['one'])]);
    await children[0]?.end(new Error('killed'));
    const [long, short] = await asked;
    assert.equal(children.length, 2);
    assert.deepEqual(short, wanted);
    assert.equal(long.vectors[0]?.[511], 'a long text'.length);
    await embedder.close();
  });

  test('that always dies is given up', async () => {
    const broken = () => startEmbedChild(new URL('data:text/javascript,throw new Error("no model here")'));
    const { children, embedder } = observe({}, broken);
    await assert.rejects(embedder.embed('p', ['one']), (error) => {
      assert.ok(refusal('embedding_unavailable')(error));
      assert.match(String((error as Error).cause), /no model here/);
      return true;
    });
    assert.equal(children.length, 2);
    await embedder.close();
  });

  test('the builtin embedder ends a child that is stuck, and another answers its requests', async () => {
    const children: EmbedChild[] = [];
    const limits = { ...DEFAULT_BUILTIN_LIMITS, ...stalls };
    const embedder = createBuiltinEmbedder(limits, () => {
      // However slow the machine is, the one that replaces it is not taken for one that is stuck.
      if (children.length === 1) limits.stallMs = DEFAULT_BUILTIN_LIMITS.stallMs;
      const child = startEmbedChild(children.length === 0 ? STUCK : READY);
      children.push(child);
      return child;
    });
    assert.equal((await embedder.embed('p', ['one'])).tokens, 7);
    assert.equal(children.length, 2);
    assert.ok(children[0]?.gone.reason instanceof ChildTimedOutError);
    await embedder.close();
  });

  test('that is always stuck is given up, and the metrics tell why', async () => {
    const metrics = createMetrics();
    const embedder = createBuiltinEmbedder(
      { ...DEFAULT_BUILTIN_LIMITS, ...stalls },
      () => startEmbedChild(STUCK),
      metrics,
    );
    await assert.rejects(embedder.embed('p', ['one']), refusal('embedding_unavailable'));
    const page = await metrics.render();
    assert.match(page, /child_process_ends_total\{name="builtin\/embed",reason="time"\} 2/);
    assert.match(page, /child_processes\{name="builtin\/embed"\} 0/);
    await embedder.close();
  });

  test('answers a short request while a long one of another project is under way', async () => {
    const done: string[] = [];
    const long = [longText(0), 'and its end'];
    const all = Promise.all([
      shared.embed('library', long).then(() => done.push('long')),
      shared.embed('library', long.toReversed()).then(() => done.push('long')),
      shared.embed('person', ['a question']).then(() => done.push('short')),
    ]);
    await all;
    assert.equal(done[0], 'short');
  });

  test('lets a request go whose caller has gone, at once', async () => {
    const leaving = new AbortController();
    const asked = shared.embed(
      'p',
      Array.from({ length: 200 }, (_, index) => longText(index)),
      leaving.signal,
    );
    leaving.abort(new Error('gone'));
    await assert.rejects(asked, /gone/);
    await assert.rejects(shared.embed('p', ['x'], leaving.signal), /gone/);
    assert.equal((await shared.embed('p', ['one'])).vectors.length, 1);
  });

  test('the builtin embedder refuses a request when its child holds as much as it may', async () => {
    const limits = { requestsPerProject: 2, requests: 3, characters: 1000 };
    const { embedder } = observe(limits, () => startEmbedChild(READY));
    const overloaded = (error: unknown) =>
      refusal('service_overloaded')(error) && (error as ApiError).detail.retryAfterSeconds === 5;
    const first = [embedder.embed('p', ['one']), embedder.embed('p', ['two'])];
    await assert.rejects(embedder.embed('p', ['three']), overloaded);
    await assert.rejects(embedder.embed('q', ['x'.repeat(1000)]), overloaded);
    const other = embedder.embed('q', ['three']);
    await assert.rejects(embedder.embed('r', ['four']), overloaded);
    await Promise.all([...first, other]);
    assert.equal((await embedder.embed('r', ['word '.repeat(300)])).vectors.length, 1, 'alone it may be larger');
    await embedder.close();
  });

  test('the builtin embedder ends its child and refuses its requests when it is closed', async () => {
    const { children, embedder } = observe({}, () => startEmbedChild(STUCK));
    const asked = embedder.embed('p', [longText(1)]);
    await Promise.all([embedder.close(), assert.rejects(asked, refusal('embedding_unavailable'))]);
    assert.ok(children[0]?.gone.aborted);
    await assert.rejects(embedder.embed('p', ['x']), refusal('embedding_unavailable'));
    assert.equal(children.length, 1);
  });
});

/** Runs a module text in a process of its own; what it prints is JSON. */
async function runAlone(script: string): Promise<Record<string, unknown>> {
  const options = ['--input-type=module', '--eval', script];
  return JSON.parse((await promisify(execFile)(process.execPath, options)).stdout);
}

test('the main thread loads nothing of the model', async () => {
  const seen = await runAlone(`
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { createBuiltinEmbedder, createEmbedders } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    const db = { query: async () => ({ rows: [], rowCount: 0 }), wake() {} };
    const credits = { terms: undefined, checkProject: async () => {} };
    const builtin = createBuiltinEmbedder();
    const parts = { outbound: { fetch() {}, post() {} }, vault: {}, db, allowPrivate: false, credits, builtin };
    const embedders = createEmbedders(parts);
    const { vectors } = await (await embedders.open('p', 'builtin/embed')).embed(['one']);
    await builtin.close();
    process.stdout.write(JSON.stringify({ length: vectors[0].length, loaded: loaded.filter((url) => /energetic|tensor/.test(url)) }));`);
  assert.deepEqual(seen, { length: 512, loaded: [] });
});

test('the model looks for nothing on the network and for no other backend', async () => {
  const seen = await runAlone(`
    import { createRequire, registerHooks } from 'node:module';
    import net from 'node:net';
    import dns from 'node:dns';
    const asked = [];
    net.Socket.prototype.connect = () => { throw new Error('network'); };
    dns.lookup = () => { throw new Error('network'); };
    globalThis.fetch = () => { throw new Error('network'); };
    registerHooks({ resolve(name, context, next) { asked.push(name); return next(name, context); } });
    const { loadSentenceEncoder } = await import(${JSON.stringify(new URL('./sentence-encoder.ts', import.meta.url).href)});
    const encoder = await loadSentenceEncoder();
    const [vector] = await encoder.encode(['a cat sat']);
    const require = createRequire(createRequire(${JSON.stringify(import.meta.url)}).resolve('@energetic-ai/embeddings'));
    const backend = require('@energetic-ai/core').getBackend();
    const packages = asked.filter((name) => !/^(node:|\\.|\\/|file:|data:)/.test(name));
    const { builtinModules } = await import('node:module');
    const foreign = [...new Set(packages.filter((name) => !builtinModules.includes(name)))].sort();
    process.stdout.write(JSON.stringify({ length: vector.length, backend, foreign }));
    process.exit();`);
  assert.equal(seen.length, 512);
  assert.equal(seen.backend, 'wasm');
  const known = /^(@energetic-ai\/(core|embeddings|model-embeddings-en)|long|seedrandom|node-fetch)$/;
  assert.deepEqual(
    (seen.foreign as string[]).filter((name) => !known.test(name)),
    [],
  );
});
