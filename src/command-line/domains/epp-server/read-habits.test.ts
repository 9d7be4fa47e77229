import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigError } from '../../../kernel/config/config.ts';
import { readHabits } from './read-habits.ts';

const folder = await mkdtemp(join(tmpdir(), 'habits-'));
after(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const read = async (content: unknown, name = 'habits.json') => readHabits(await write(name, content), ['demo']);

async function problemsOf(content: unknown, name?: string): Promise<string[]> {
  try {
    await read(content, name);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map((problem) => problem.replace(/^\S+habits\.\w+: /, ''));
  }
  assert.fail('it was taken');
}

test('YAML and JSON are read alike, and nothing has to be said', async () => {
  const yaml = 'sells: { premium: { gold.com: 500 } }\nanswers: [{ answer: 2400, names: ["*.com"] }]\n';
  const habits = { sells: { premium: { 'gold.com': 500 } }, answers: [{ answer: 2400, names: ['*.com'] }] };
  assert.deepEqual([await read(yaml, 'habits.yaml'), await read(habits)], [habits, habits]);
  assert.deepEqual(await read({}), {});
});

const WRONG: readonly [content: unknown, problems: readonly RegExp[]][] = [
  [{ answer: [] }, [/^answer: is no member; see docs\/registrar\.md$/]],
  [{ terms: { grace: 1 } }, [/^terms\.grace: is no member/]],
  [{ terms: { auto_renew_grace_days: 0 } }, [/^terms\.auto_renew_grace_days: must be >= 1/]],
  [{ protocol: { contacts: 'some' } }, [/^protocol\.contacts: must be one of objects, no_disclose, none$/]],
  [{ protocol: { fee_versions: ['0.10'] } }, [/^protocol\.fee_versions\[0\]: must be one of 1\.0, 0\.21/]],
  [{ protocol: { balance: true } }, [/^protocol\.balance: needs `limits\.credit`/]],
  [{ sells: { premium: { 'Gold.com': 5 } } }, [/^sells\.premium\.Gold\.com: names are written in lower case/]],
  [{ sells: { reserved: ['gold'] } }, [/^sells\.reserved\[0\]: names are written in lower case and with their TLD/]],
  [{ sells: { tlds: ['.com'] } }, [/^sells\.tlds\[0\]: TLDs are written/]],
  [{ sells: { registered: { other: ['a.com'] } } }, [/^sells\.registered\.other: is none of the registrars: demo$/]],
  [{ limits: { credit: { other: 5, x: 1 } } }, [/^limits\.credit\.x: ids of registrars have 3 to 16 characters/]],
  [
    { answers: [{ answer: 2222 }] },
    [/^answers\[0\]\.answer: must be one of silent, cut, late, undated, garbled, 2104, 2201,/],
  ],
  [{ answers: [{ answer: 'late' }] }, [/^answers\[0\]\.late_ms: say how late, in milliseconds$/]],
  [{ answers: [{ answer: 'cut', late_ms: 5 }] }, [/^answers\[0\]\.late_ms: is of `answer: late` alone$/]],
  [{ answers: [{ answer: 'cut', commands: ['sleep'] }] }, [/^answers\[0\]\.commands\[0\]: must be one of check, info/]],
  [{ answers: [{ answer: 'cut', names: ['A.com'] }] }, [/^answers\[0\]\.names\[0\]: names are written in lower case/]],
  [{ answers: [{ answer: 'cut', share: 2 }] }, [/^answers\[0\]\.share: must be <= 1/]],
  [
    { out_of_band: [{ event: 'moved', name: 'a.com', registrar: 'other' }, { event: 'lost' }] },
    [
      /^out_of_band\[1\]: must have required properties name/,
      /^out_of_band\[1\]\.event: must be one of registered, moved/,
    ],
  ],
  [
    { out_of_band: [{ event: 'moved', name: 'a.com', registrar: 'other' }] },
    [/^out_of_band\[0\]\.registrar: is none of the registrars: demo, elsewhere$/],
  ],
  ['answers: [', [/^cannot be read: /]],
];

test('what is wrong is told by its member, with what it may be', async () => {
  for (const [content, expected] of WRONG) {
    const problems = await problemsOf(content, typeof content === 'string' ? 'habits.yaml' : 'habits.json');
    assert.equal(problems.length, expected.length, problems.join('\n'));
    for (const [index, pattern] of expected.entries()) assert.match(problems[index] ?? '', pattern);
  }
});
