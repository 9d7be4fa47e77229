/** The README has the blocks of commands that the soak runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSections } from './read-sections.ts';

test('the README has as many blocks of commands below each heading as are run', async () => {
  const sections = await readSections();
  const [install] = sections.get('Two minutes to a streamed answer') ?? [];
  const [develop] = sections.get('Developing') ?? [];
  assert.equal(install?.trim(), 'npm ci && npm start');
  assert.equal(develop?.trim(), 'npm ci && npm test');
  assert.deepEqual(
    [...sections.values()].map(({ length }) => length),
    [6, 1, 10, 1, 2, 1, 1, 1],
    'a new block of commands needs a place in this test',
  );
});
