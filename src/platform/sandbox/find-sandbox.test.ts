/** What is said of a machine that can make no boxes. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SANDBOX_SETTINGS, whyNoBoxes } from '../../../test/support/sandbox.ts';
import { findSandbox } from './find-sandbox.ts';

const skip = await whyNoBoxes();
const isRoot = process.getuid?.() === 0;

test('names the folder for temporary files where the users of boxes may not enter it', {
  skip: skip || (isRoot ? false : 'root alone starts boxes of other users'),
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-closed-'));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    const closed = await findSandbox(SANDBOX_SETTINGS);
    assert.ok('problem' in closed);
    assert.equal(closed.problem, `The users of boxes may not enter ${folder}, where temporary files of the server lie`);
    assert.match(closed.mend, new RegExp(`chmod o\\+x ${folder}.*TMPDIR=/tmp`));
    await chmod(folder, 0o711);
    assert.ok(!('problem' in (await findSandbox(SANDBOX_SETTINGS))));
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(folder, { recursive: true });
  }
});

test('says that no folder can be made among the temporary files', { skip }, async () => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = '/nowhere';
  try {
    const found = await findSandbox(SANDBOX_SETTINGS);
    assert.ok('problem' in found);
    assert.match(found.problem, /^No folder for boxes can be made among the temporary files of the server: ENOENT/);
    assert.match(found.mend, /\/nowhere.*TMPDIR=\/tmp/);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});
