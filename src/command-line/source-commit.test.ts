import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readSourceCommit } from './source-commit.ts';

const COMMIT = 'a'.repeat(40);
const OTHER = 'b'.repeat(40);

/** A folder with package.json and these files. */
function folderWith(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'ironcraft-source-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries({ 'package.json': '{"version":"1.2.3"}', ...files })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

test('a checkout is named by the commit of its branch', (t) => {
  const root = folderWith(t, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` });
  assert.equal(readSourceCommit(root), COMMIT);
});

test('a detached checkout is named by its commit', (t) => {
  assert.equal(readSourceCommit(folderWith(t, { '.git/HEAD': `${COMMIT}\n` })), COMMIT);
});

test('a packed branch is found', (t) => {
  const packed = `# pack-refs with: peeled\n${OTHER} refs/heads/other\n${COMMIT} refs/heads/main\n`;
  assert.equal(
    readSourceCommit(folderWith(t, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/packed-refs': packed })),
    COMMIT,
  );
});

test('a linked work tree follows its pointer to the shared branches', (t) => {
  const root = folderWith(t, {
    '.git': 'gitdir: real/worktrees/one\n',
    'real/worktrees/one/HEAD': 'ref: refs/heads/topic\n',
    'real/worktrees/one/commondir': '../..\n',
    'real/refs/heads/topic': `${COMMIT}\n`,
  });
  assert.equal(readSourceCommit(root), COMMIT);
});

test('without a checkout, or on a branch without a commit, it is the version', (t) => {
  assert.equal(readSourceCommit(folderWith(t, {})), '1.2.3');
  assert.equal(readSourceCommit(folderWith(t, { '.git/HEAD': 'ref: refs/heads/none\n' })), '1.2.3');
});
