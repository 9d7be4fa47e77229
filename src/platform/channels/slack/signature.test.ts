import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readSlackSignature } from './signature.ts';

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
const PUBLISHED = {
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
    '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
    '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
    '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
};
const NOW = new Date(Number(PUBLISHED.timestamp) * 1_000);
const secret = 'a secret';

function check(body: Buffer, signature: string | undefined, timestamp: string | undefined, now = NOW): boolean {
  return readSlackSignature(body, signature, timestamp, now)(secret);
}

function sign(body: Buffer, timestamp = PUBLISHED.timestamp): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`;
}

function code(of: string) {
  return (error: unknown) => error instanceof ApiError && error.code === of;
}

test('the published signature holds for the published body', () => {
  const { body, signature, timestamp } = PUBLISHED;
  const isSignedWith = readSlackSignature(Buffer.from(body), signature, timestamp, NOW);
  assert.equal(isSignedWith(PUBLISHED.secret), true);
  assert.equal(isSignedWith('another'), false);
  assert.equal(readSlackSignature(Buffer.from(`${body} `), signature, timestamp, NOW)(PUBLISHED.secret), false);
});

test('bytes that are no text are signed as they are', () => {
  const body = Buffer.from([0xff, 0x00, 0xfe]);
  assert.equal(check(body, sign(body), PUBLISHED.timestamp), true);
  assert.equal(check(Buffer.from(body.toString('utf8')), sign(body), PUBLISHED.timestamp), false);
});

test('a call holds for five minutes, before and after', () => {
  const body = Buffer.from('{}');
  const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
  for (const seconds of [-300, 300]) assert.equal(check(body, sign(body), PUBLISHED.timestamp, at(seconds)), true);
  for (const seconds of [-301, 301]) {
    assert.throws(() => check(body, sign(body), PUBLISHED.timestamp, at(seconds)), code('bad_signature'));
  }
});

test('what is no signature is refused before anything is looked up', () => {
  const body = Buffer.from('{}');
  const good = sign(body);
  for (const [signature, timestamp] of [
    ['', PUBLISHED.timestamp],
    [good.slice(0, -1), PUBLISHED.timestamp],
    [`${good}0`, PUBLISHED.timestamp],
    [good.replace('v0', 'v1'), PUBLISHED.timestamp],
    [`v0=${'g'.repeat(64)}`, PUBLISHED.timestamp],
    [good, 'yesterday'],
    [good, '1e9'],
    [good, '9'.repeat(30)],
  ] as const) {
    assert.throws(() => check(body, signature, timestamp), code('bad_signature'), `${signature} ${timestamp}`);
  }
  assert.throws(() => check(body, undefined, PUBLISHED.timestamp), code('missing_signature'));
  assert.throws(() => check(body, good, undefined), code('missing_signature'));
});
