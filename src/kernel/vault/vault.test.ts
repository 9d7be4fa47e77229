import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createVault, timingSafeEqualText, VaultError } from './vault.ts';

const oldKey = createSecretKey(randomBytes(32));
const newKey = createSecretKey(randomBytes(32));
const vault = createVault([newKey]);

test('a sealed text opens again, and the plain text is not in it', () => {
  for (const plain of ['', 'p', 'pässword ☃', 'x'.repeat(100_000)]) {
    const sealed = vault.seal(plain, 'table/1');
    assert.equal(vault.open(sealed, 'table/1'), plain);
    assert.ok(plain.length < 4 || !Buffer.from(sealed.split('.')[2] ?? '', 'base64url').includes(plain));
  }
});

test('bytes come back as they were', () => {
  const bytes = randomBytes(1000);
  assert.deepEqual(Buffer.from(vault.openBytes(vault.seal(bytes, 'c'), 'c')), bytes);
});

test('sealing twice gives two texts', () => {
  assert.notEqual(vault.seal('same', 'c'), vault.seal('same', 'c'));
});

test('a sealed text moved to another row does not open', () => {
  const sealed = vault.seal('secret', 'model_keys/1');
  assert.throws(() => vault.open(sealed, 'model_keys/2'), isVaultError('not_authentic'));
});

test('a change of any byte is noticed', () => {
  const sealed = vault.seal('secret', 'c');
  const [version, id, text] = sealed.split('.');
  const payload = Buffer.from(text ?? '', 'base64url');
  for (let i = 0; i < payload.length; i++) {
    const changed = Buffer.from(payload);
    changed[i] = (changed[i] ?? 0) ^ 1;
    const again = `${version}.${id}.${changed.toString('base64url')}`;
    assert.throws(() => vault.open(again, 'c'), isVaultError('not_authentic'), `byte ${i}`);
  }
  const shorter = `${version}.${id}.${payload.subarray(0, -1).toString('base64url')}`;
  assert.throws(() => vault.open(shorter, 'c'), isVaultError('not_authentic'));
});

test('after a rotation both keys open, the new one seals, and what is old says so', () => {
  const before = createVault([oldKey]).seal('secret', 'c');
  const rotated = createVault([newKey, oldKey]);
  assert.equal(rotated.open(before, 'c'), 'secret');
  assert.equal(rotated.needsReseal(before), true);
  const after = rotated.seal('secret', 'c');
  assert.equal(rotated.needsReseal(after), false);
  assert.equal(vault.open(after, 'c'), 'secret');
});

test('a value under a key that is not configured says so', () => {
  const sealed = createVault([oldKey]).seal('secret', 'c');
  assert.throws(() => vault.open(sealed, 'c'), isVaultError('unknown_key'));
});

for (const text of ['', 'plain', 'v1..', 'v1.abc.', 'v2.abc.AAAA', `${vault.seal('x', 'c')}.more`]) {
  test(`"${text.slice(0, 12)}" is not a sealed value`, () => {
    assert.throws(() => vault.open(text, 'c'), isVaultError('malformed'));
  });
}

test('errors hold neither key nor text', () => {
  const sealed = vault.seal('hunter2', 'c');
  try {
    vault.open(sealed, 'd');
    assert.fail('opened');
  } catch (error) {
    const shown = inspect(error, { depth: 9 });
    assert.ok(!shown.includes('hunter2') && !shown.includes(sealed.split('.')[2] ?? ''), shown);
  }
});

test('a vault without keys is refused', () => {
  assert.throws(() => createVault([]), VaultError);
});

test('texts are compared whole', () => {
  assert.ok(timingSafeEqualText('', ''));
  assert.ok(timingSafeEqualText('abc', 'abc'));
  assert.ok(!timingSafeEqualText('abc', 'abd'));
  assert.ok(!timingSafeEqualText('abc', 'abcd'));
});

function isVaultError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof VaultError && error.code === code;
}
