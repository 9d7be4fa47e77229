/** docs/registrar.md is true: its tables are those of the file, and the tests that it names are there. The soak runs its commands. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Habits } from '../../src/command-line/domains/epp-server/habits-schema.ts';
import { Setup } from '../../src/domains/boot/setup/setup-schema.ts';

const guide = await readFile(fileURLToPath(new URL('../../docs/registrar.md', import.meta.url)), 'utf8');

test('the tables of the registrar guide have every member of the setup file', () => {
  const { registries, tlds } = Setup.properties;
  for (const [header, members] of [
    ['member of a registry', Object.keys(registries.items.properties)],
    ['member of a TLD', Object.keys(tlds.items.properties)],
  ] as const) {
    const start = guide.indexOf(`| ${header} |`);
    const table = guide.slice(start, guide.indexOf('\n\n', start));
    const named = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    );
    assert.deepEqual(named.sort(), members.sort(), header);
  }
});

test('the table of habits of the registrar guide has every member of their file', () => {
  const start = guide.indexOf('| what the registry does | member |');
  const table = guide.slice(start, guide.indexOf('\n\n', start));
  const named = [...table.matchAll(/\| (`[^|]*) \|$/gm)].flatMap(([, cell = '']) => {
    const [first = '', ...others] = [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
    return cell.includes('`: ') ? others.map((name) => `${first}.${name}`) : [first, ...others];
  });
  const members = Object.entries(Habits.properties).flatMap(([group, schema]) => {
    const inner = 'items' in schema ? schema.items : schema;
    return 'properties' in inner ? Object.keys(inner.properties).map((member) => `${group}.${member}`) : [group];
  });
  assert.deepEqual([...new Set(named)].sort(), members.sort());
});

test('each test that the registrar guide names is there, and speaks to the server over EPP', async () => {
  const named = [...guide.matchAll(/`(src\/\S+\.(?:test|soak)\.ts)` \|$/gm)].map(([, file = '']) => file);
  assert.equal(named.length, 19);
  for (const file of named) {
    const url = new URL(`../../${file}`, import.meta.url);
    const source = await readFile(url, 'utf8');
    // What a file shares with its soak stands beside the other support of tests.
    const shared = [...source.matchAll(/'(\S+\/support\/check-[\w-]+\.ts)'/g)].map(
      ([, path = '']) => new URL(path, url),
    );
    const sources = [source, ...(await Promise.all(shared.map((path) => readFile(path, 'utf8'))))];
    assert.match(sources.join('\n'), /\/(domains-over-epp|scripted-epp|three-registries)\.ts/, file);
  }
});
