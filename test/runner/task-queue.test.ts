import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isWaiting, root, type Task } from './select-files.ts';
import { TaskQueue } from './task-queue.ts';

const task = (file: string, store: Task['store'] = 'embedded'): Task => ({ file, store });
const faults = ['a', 'b', 'c'].map((name) => task(`test/faults/${name}.test.ts`));
const light = task('src/light.test.ts');

test('what comes next waits while as many heavy files are under way as may be, and what is light passes it', () => {
  const queue = new TaskQueue([...faults, light], 2);
  const taken = [queue.take(), queue.take(), queue.take()];
  assert.deepEqual(taken, [faults[0], faults[1], light]);
  assert.equal(queue.take(), undefined);
  queue.end(light);
  assert.equal(queue.take(), undefined, 'a light one makes no room');
  queue.end(faults[0] ?? assert.fail('there is a first'));
  assert.equal(queue.take(), faults[2]);
});

test('whoever wants some files alone takes no other, and leaves the order of the others', () => {
  const other = task('src/other.test.ts');
  const queue = new TaskQueue([light, other]);
  const isOther = ({ file }: Task) => file === other.file;
  assert.deepEqual([queue.take(isOther), queue.take(isOther), queue.take()], [other, undefined, light]);
});

test('files that wait are known by their names', () => {
  const names = ['src/kernel/jobs/jobs.test.ts', 'src/platform/knowledge/read/document-reader.test.ts'];
  for (const name of names) assert.ok(isWaiting(name) && existsSync(join(root, name)), name);
  assert.equal(isWaiting(light.file), false);
});

test('a file that is under way on one store waits on the other', () => {
  const onServer = task(light.file, 'server');
  const queue = new TaskQueue([light, onServer]);
  assert.equal(queue.take(), light);
  assert.equal(queue.take(), undefined);
  assert.deepEqual([queue.has('embedded'), queue.has('server')], [false, true]);
  queue.end(light);
  assert.equal(queue.take(), onServer);
  assert.equal(queue.has('server'), false);
});
