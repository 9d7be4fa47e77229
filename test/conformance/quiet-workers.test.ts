/** Every worker that looks at a store by itself looks seldom while nobody uses it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');

/** Why one looks at its interval all the same. */
const EXCEPTIONS = new Map([
  ['src/platform/engine/replica/heartbeat.ts: replica cleanup', 'each ten minutes'],
  ['src/platform/traces/export/trace-export.ts: trace export', 'reads no store'],
  [
    'src/command-line/domains/epp-server/serve-registry.ts: simulated registry',
    'a registry to try things with, in a process of its own',
  ],
]);

interface FoundWorker {
  readonly place: string;
  readonly options: string;
}

function listWorkers(): FoundWorker[] {
  return globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => !/\.(test|soak)\.ts$/.test(path) && !path.startsWith('src/kernel/periodic/'))
    .flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      return text
        .split('createPeriodicWorker({')
        .slice(1)
        .map((rest) => {
          const options = rest.slice(0, endOfBraces(rest));
          const [, name = '?'] = /name(?:: ['"`]([^'"`]*))?/.exec(options) ?? [];
          return { place: `${path}: ${name}`, options };
        });
    });
}

/** Of what follows an opening brace. */
function endOfBraces(text: string): number {
  for (let depth = 1, at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}

test('every periodic worker with an interval names the store that it looks at', () => {
  const workers = listWorkers();
  assert.ok(workers.length >= 25, `${workers.length} workers were found`);
  const busy = workers.filter(({ options }) => /\bintervalMs\b/.test(options) && !/\bstore\b/.test(options));
  assert.deepEqual(busy.map(({ place }) => place).sort(), [...EXCEPTIONS.keys()].sort());
});
