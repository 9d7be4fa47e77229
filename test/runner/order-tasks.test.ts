import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findChangedFiles, measureDistances } from './changed-files.ts';
import { orderTasks } from './order-tasks.ts';
import type { Task } from './select-files.ts';

/** An empty repository; each commit is a day after the one before it. */
function makeRepository(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'change-'));
  t.after(() => rmSync(root, { recursive: true }));
  let day = 1;
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: root,
      env: { ...process.env, GIT_COMMITTER_DATE: `2026-11-0${day}T00:00:00Z` },
    });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  git('init', '--quiet');
  return {
    root,
    write,
    commit(path: string, text = '') {
      write(path, text);
      git('add', '--all');
      git('commit', '--quiet', '--message', `add ${path}`);
      day += 1;
    },
  };
}

test('a change is the files of the last day’s commits and those that are not committed', (t) => {
  const repository = makeRepository(t);
  repository.commit('src/first.ts');
  repository.commit('src/second.ts');
  repository.commit('src/third.ts');
  repository.write('src/second.ts', 'changed');
  repository.write('src/new.ts', '');
  assert.deepEqual(findChangedFiles(repository.root, '').sort(), ['src/new.ts', 'src/second.ts', 'src/third.ts']);
  assert.deepEqual(findChangedFiles(repository.root, 'HEAD').sort(), ['src/new.ts', 'src/second.ts']);
});

test('a folder without git has no changed files', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'change-'));
  t.after(() => rmSync(root, { recursive: true }));
  assert.deepEqual(findChangedFiles(root, ''), []);
});

test('a distance is the least number of imports between a file and a changed one', (t) => {
  const { root, write } = makeRepository(t);
  write('src/a.ts', '');
  write('src/b.ts', "import { a } from './a.ts';\n");
  write('src/c.ts', "import { b } from './b.ts';\nimport './d.ts';\n");
  write('src/d.ts', "import { c } from './c.ts';\n");
  write('test/support/database.ts', '');
  const distances = measureDistances(root, ['src/a.ts', 'migrations/platform/0001_first.sql']);
  assert.deepEqual(Object.fromEntries(distances), {
    'src/a.ts': 0,
    'test/support/database.ts': 0,
    'src/b.ts': 1,
    'src/c.ts': 2,
    'src/d.ts': 3,
  });
});

test('tests near a change come first, the nearest and shortest of them before the others', () => {
  const task = (file: string): Task => ({ file, store: 'embedded' });
  const [far, near, nearest, heavy] = [
    'src/kernel/db/database.test.ts',
    'src/kernel/vault/vault.test.ts',
    'test/runner/order-tasks.test.ts',
    'test/faults/drain.test.ts',
  ].map(task) as [Task, Task, Task, Task];
  const distances = new Map([
    [near.file, 2],
    [nearest.file, 0],
    [far.file, 3],
  ]);
  assert.deepEqual(orderTasks([far, heavy, near, nearest], distances), [nearest, near, heavy, far]);
});
