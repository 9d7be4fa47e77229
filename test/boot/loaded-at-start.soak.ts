/** A start that finds its modules compiled by an earlier one does not load what compiles them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLoaded, reportsLoaded } from './loaded-packages.ts';
import { makeFolder, openGivenStore, startServer } from './server-process.ts';

test('a start that finds its modules compiled loads nothing that only later work needs', async (t) => {
  const folder = await makeFolder(t);
  const variables = {
    ...(await openGivenStore(t)),
    ...reportsLoaded(folder),
    // The program's own choice of a folder is what is tried.
    NODE_COMPILE_CACHE: '',
  };
  // The first one compiles what no start before has.
  await (await startServer(t, folder, variables)).stop();
  const server = await startServer(t, folder, variables);
  const ofNode = await readLoaded(server, variables);
  await server.stop();
  // What strips types, and Node's own fetch.
  assert.deepEqual(
    ofNode.filter((name) => /deps\/(?:amaro|undici)/.test(name)),
    [],
  );
});
