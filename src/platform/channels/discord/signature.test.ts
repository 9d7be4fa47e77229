import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { isPublicKey } from './public-key.ts';
import { isSignedBy, readDiscordSignature } from './signature.ts';

/** RFC 8032, section 7.1: TEST 2 and TEST 3, whose first byte stands where Discord has the timestamp. */
const VECTORS = [
  {
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
];

test('the vectors of RFC 8032 hold, and nothing near them', async () => {
  for (const { publicKey, message, signature } of VECTORS) {
    const bytes = Buffer.from(message, 'hex');
    const signed = { signature, timestamp: '' };
    assert.ok(isPublicKey(publicKey));
    assert.equal(await isSignedBy(publicKey, bytes, signed), true);
    assert.equal(await isSignedBy(publicKey, Buffer.from(`${message}00`, 'hex'), signed), false);
    assert.equal(await isSignedBy(publicKey, bytes, { signature, timestamp: '1' }), false);
    const flipped = signature.replace(/^../, (byte) => (Number.parseInt(byte, 16) ^ 1).toString(16).padStart(2, '0'));
    assert.equal(await isSignedBy(publicKey, bytes, { ...signed, signature: flipped }), false);
  }
});

test('a key of small order, zeros too, is none: a signature that nobody made may hold under it', () => {
  const small = ['01', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', `ec${'ff'.repeat(30)}7f`];
  for (const hex of ['00', ...small, `${'00'.repeat(31)}80`])
    assert.equal(isPublicKey(hex.padEnd(64, '0')), false, hex);
  for (const hex of ['', '00', 'zz'.repeat(32), `${VECTORS[0]?.publicKey}00`])
    assert.equal(isPublicKey(hex), false, hex);
});

test('what is no signature of about now is refused', () => {
  const now = new Date('2026-05-01T12:00:00Z');
  const seconds = now.getTime() / 1_000;
  const good = 'ab'.repeat(64);
  const codeOf = (signature?: string | string[], timestamp?: string | string[]) => {
    try {
      readDiscordSignature(signature, timestamp, now);
      return 'read';
    } catch (error) {
      return error instanceof ApiError ? error.code : String(error);
    }
  };
  assert.equal(codeOf(good, String(seconds)), 'read');
  assert.equal(codeOf(good, String(seconds - 299)), 'read');
  for (const [signature, timestamp] of [[undefined, String(seconds)], [good, undefined], []]) {
    assert.equal(codeOf(signature, timestamp), 'missing_signature');
  }
  const wrong: readonly [string | string[], string | string[]][] = [
    ['', String(seconds)],
    [good.slice(2), String(seconds)],
    [`${good}00`, String(seconds)],
    [`${good}, ${good}`, String(seconds)],
    ['zz'.repeat(64), String(seconds)],
    [good, 'yesterday'],
    [good, ''],
    [good, `${seconds}.5`],
    [good, `-${seconds}`],
    [good, String(seconds - 301)],
    [good, String(seconds + 301)],
    [good, `${seconds}, ${seconds}`],
    [[good, good], String(seconds)],
  ];
  for (const [signature, timestamp] of wrong)
    assert.equal(codeOf(signature, timestamp), 'bad_signature', String(timestamp));
});
