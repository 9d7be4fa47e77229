/** The plan of the house: which part may know which. Every rule is shown to bite before it is held against src/. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { describe, test } from 'node:test';
import { checkTimeOfDay, checkTimers, findViolations, importsOf, OWN_TIMERS, OWN_TIMES } from './import-graph.ts';

const root = new URL('../../', import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  dependencies: Record<string, string>;
};
const IMPORT_TIMEOUT_MS = 60_000;
const packages = new Set(Object.keys(dependencies));

test('src/ keeps every rule', () => {
  const sources = readSources('src');
  assert.ok(sources.size > 100, 'src/ was not found');
  assert.deepEqual(findViolations(sources, packages), []);
});

test('no file of test/ or bench/ has a name that names no concern', () => {
  for (const folder of ['test', 'bench']) {
    const names = [...readSources(folder).keys()].filter((path) => !path.includes('/peers/'));
    const named = new Map(names.map((path) => [path, '']));
    assert.deepEqual(findViolations(named, packages), []);
  }
});

describe('a wrong arrow is found', () => {
  const target = (path: string) => [path, ''] as const;
  const wrong: readonly (readonly [
    rule: string,
    planted: readonly (readonly [string, string])[],
    complaint: RegExp,
  ])[] = [
    [
      'the kernel knows nothing of the platform',
      [['src/kernel/ids/ids.ts', `import { x } from '../../platform/tables.ts';`], target('src/platform/tables.ts')],
      /no arrow leads from kernel to tables/,
    ],
    [
      'the platform knows nothing of the domains',
      [['src/platform/app.ts', `import { x } from '../domains/app.ts';`], target('src/domains/app.ts')],
      /no arrow leads from app to domains app/,
    ],
    [
      'the domains know nothing of the platform',
      [['src/domains/app.ts', `import type { X } from '../platform/tables.ts';`], target('src/platform/tables.ts')],
      /no arrow leads from domains app to tables/,
    ],
    [
      'the engine knows nothing of resources',
      [
        ['src/platform/engine/engine.ts', `export { x } from '../resources/runs/index.ts';`],
        target('src/platform/resources/runs/index.ts'),
      ],
      /no arrow leads from engine to resources/,
    ],
    [
      'a resource reaches another through its index.ts',
      [
        ['src/platform/resources/agents/create-agent.ts', `import {\n  x,\n  y,\n} from '../smiths/store.ts';`],
        target('src/platform/resources/smiths/store.ts'),
      ],
      /past that folder's index\.ts/,
    ],
    [
      'the engine is known by its front door',
      [
        ['src/platform/resources/runs/get-run.ts', `import { x } from '../../engine/store/get-run.ts';`],
        target('src/platform/engine/store/get-run.ts'),
      ],
      /past src\/platform\/engine\/index\.ts/,
    ],
    [
      'a store imports no handler of another folder',
      [
        ['src/platform/resources/agents/revision-store.ts', `import { x } from '../smiths/index.ts';`],
        target('src/platform/resources/smiths/index.ts'),
      ],
      /a store knows the kernel and its tables/,
    ],
    [
      'a store imports nothing of access',
      [
        ['src/platform/resources/agents/store.ts', `import { x } from '../../access/caller.ts';`],
        target('src/platform/access/caller.ts'),
      ],
      /a store knows the kernel and its tables/,
    ],
    [
      'a late import is an import',
      [
        ['src/kernel/db/x.ts', `const { y } = await import('../../platform/tables.ts');`],
        target('src/platform/tables.ts'),
      ],
      /no arrow leads from kernel to tables/,
    ],
    [
      'a worker is an import',
      [
        ['src/kernel/db/x.ts', `new Worker(new URL('../../platform/w.ts', import.meta.url));`],
        target('src/platform/w.ts'),
      ],
      /is in no layer/,
    ],
    [
      'files do not import each other in a circle',
      [
        ['src/kernel/a/a.ts', `import { b } from '../b/b.ts';`],
        ['src/kernel/b/b.ts', `import { c } from '../c/c.ts';`],
        ['src/kernel/c/c.ts', `import { a } from '../a/a.ts';`],
      ],
      /a circle: src\/kernel\/a\/a\.ts → src\/kernel\/b\/b\.ts → src\/kernel\/c\/c\.ts → src\/kernel\/a\/a\.ts/,
    ],
    [
      'the product imports nothing of its tests',
      [['src/kernel/a.ts', `import '../../test/support/platform.ts';`]],
      /not part/,
    ],
    [
      'a package is a dependency',
      [['src/kernel/a.ts', `import _ from '@scope/left-pad/deep.js';`]],
      /imports @scope\/left-pad/,
    ],
    ['an import leads somewhere', [['src/kernel/a.ts', `import { x } from './gone.ts';`]], /does not exist/],
    [
      'a folder has a layer',
      [['src/platform/stray/a.ts', `import { x } from './b.ts';`], target('src/platform/stray/b.ts')],
      /in no layer/,
    ],
    [
      'the environment is read in kernel/config alone',
      [['src/platform/app.ts', 'const port = process.env.PORT;']],
      /reads the environment/,
    ],
    [
      'the environment is read in kernel/config alone, however',
      [['src/command-line/serve.ts', `import { env } from 'node:process';`]],
      /reads the environment/,
    ],
    ...[
      'const timer = setTimeout(look, 1_000);',
      'export const wait = setInterval;',
      'globalThis.setTimeout(look, 1_000);',
      'const signal = AbortSignal.timeout(1_000);',
      `import timers from 'node:timers';`,
      `import { setTimeout as wait } from 'node:timers/promises';`,
      `import {\n  setImmediate as nextTurn,\n  setTimeout as wait,\n} from 'node:timers/promises';`,
      `import * as timers from 'node:timers/promises';`,
      `const { scheduler } = await import('node:timers/promises');`,
    ].map(
      (source) =>
        [
          `what waits goes by kernel/clock: ${source.replaceAll(/\s+/g, ' ')}`,
          [['src/kernel/a.ts', source]] as const,
          /waits by itself/,
        ] as const,
    ),
    ...['const now = Date.now();', 'const at = new Date();', 'rows.map(Date.now)'].map(
      (source) =>
        [
          `a service reads its clock: ${source}`,
          [['src/domains/a.ts', source]] as const,
          /reads the time by itself/,
        ] as const,
    ),
    ['a name names a concern', [target('src/kernel/http/http-utils.ts')], /names no concern/],
    ['a folder’s name too', [target('src/kernel/common/x.ts')], /names no concern/],
    ['names are kebab-case', [target('src/kernel/http/rateLimit.ts')], /not in kebab-case/],
  ];
  for (const [rule, planted, complaint] of wrong) {
    test(rule, () => {
      const problems = findViolations(new Map(planted), packages);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', complaint);
    });
  }

  test('planted into src/ as it is', () => {
    const sources = readSources('src');
    const victim = 'src/kernel/ids/ids.ts';
    assert.ok(sources.has(victim));
    sources.set(victim, `import { platformErrors } from '../../platform/errors.ts';\n${sources.get(victim)}`);
    const problems = findViolations(sources, packages);
    assert.ok(problems.some((problem) => problem.startsWith(`${victim} imports src/platform/errors.ts`)));
  });
});

test('a turn of the event loop and a method of another are no waiting', () => {
  const source = `
    import { setImmediate as nextTurn } from 'node:timers/promises';
    setImmediate(look);
    server.setTimeout(1_000);
    const signal = AbortSignal.any([one, other]);
  `;
  assert.deepEqual(checkTimers('src/kernel/a.ts', source), []);
  assert.deepEqual(checkTimers('src/kernel/a.test.ts', 'setTimeout(look, 1_000);'), []);
});

test('the scripts of src/ wait by kernel/clock too, and each exemption is of a file that needs it', () => {
  const files = [...readSources('src'), ...readSources('src', '.js')];
  assert.deepEqual(
    files.flatMap(([path, source]) => checkTimers(path, source)),
    [],
  );
  const sources = new Map(files);
  for (const path of Object.keys(OWN_TIMERS)) {
    assert.equal(checkTimers(`src/not-exempt/${path}`, sources.get(path) ?? '').length, 1, `${path} has no timers`);
  }
});

test('each service file that reads the time by itself needs to', () => {
  const sources = readSources('src');
  for (const path of Object.keys(OWN_TIMES)) {
    assert.equal(checkTimeOfDay(`src/platform/not-exempt/${path}`, sources.get(path) ?? '').length, 1, path);
  }
  assert.deepEqual(
    checkTimeOfDay('src/domains/a.ts', 'const at = new Date(row.created_at); const other = new Date(0);'),
    [],
  );
});

test('every way to import is read, and nothing that only looks like one', () => {
  const source = `
    import fs from 'node:fs';
    import type { A } from './a.ts';
    import {
      b,
      type B,
    } from "./b.ts";
    import './c.ts';
    export { d } from './d.ts';
    export * from './e.ts';
    const f = await import('./f.ts');
    type G = typeof import('./g.ts');
    // import { no } from './no.ts';
    const text = 'import it from somewhere';
  `;
  assert.deepEqual(
    importsOf('src/x/y.ts', source).sort(),
    ['node:fs', ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `src/x/${name}.ts`)].sort(),
  );
});

test('importing a module does nothing: no output, no file, nothing that keeps the process from ending', () => {
  // What is started as a program or as a thread does its work on import.
  const started = new Set(['src/kernel/child-process/run-child.ts', 'src/kernel/db/embedded-worker.ts']);
  const paths = [...readSources('src').keys()].filter(
    (path) => !started.has(path) && !/\.(?:test|soak)\.ts$/.test(path),
  );
  const modules = paths.map((path) => new URL(path, root).href);
  const script = `for (const module of ${JSON.stringify(modules)}) await import(module);`;
  const folder = mkdtempSync(join(tmpdir(), 'import-'));
  try {
    // By its standard input: one argument holds 128 KB, which the paths of a folder with a long name exceed.
    const options = { cwd: folder, encoding: 'utf8', timeout: IMPORT_TIMEOUT_MS, input: script } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module'], options);
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function readSources(folder: string, ending = '.ts'): Map<string, string> {
  const entries = readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' });
  const paths = entries.filter((entry) => entry.endsWith(ending) && !entry.includes('node_modules'));
  return new Map(
    paths.map((entry) => {
      const path = `${folder}/${entry.replaceAll(sep, '/')}`;
      return [path, readFileSync(new URL(path, root), 'utf8')];
    }),
  );
}
