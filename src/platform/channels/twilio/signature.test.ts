import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, readForm, readTwilioSignature } from './signature.ts';

/** As Twilio's own libraries have it. */
const TOKEN = '12345';
const URL = 'https://mycompany.com/myapp.php?foo=1&bar=2';
const BODY = 'To=%2B18005551212&From=%2B12349013030&Digits=1234&Caller=%2B12349013030&CallSid=CA1234567890ABCDE';
const SIGNATURE = '0/KCTR6DLpKmkAf8muzZqo1nDgQ=';

function check(body: string | Buffer, signature: string, { url = URL, token = TOKEN } = {}): boolean {
  return readTwilioSignature(url, readForm(Buffer.from(body)), signature)(token);
}

test('the published vector holds, and nothing that differs from it', () => {
  assert.ok(check(BODY, SIGNATURE));
  const flipped = `1${SIGNATURE.slice(1)}`;
  assert.deepEqual(
    [
      check(`${BODY}&Extra=1`, SIGNATURE),
      check(BODY.replace('1234&', '1235&'), SIGNATURE),
      check(BODY, SIGNATURE, { url: URL.replace('bar=2', 'bar=3') }),
      check(BODY, SIGNATURE, { token: '12346' }),
      check(BODY, flipped),
      check(BODY, SIGNATURE.slice(0, -1)),
      check(BODY, `${SIGNATURE}, ${SIGNATURE}`),
      check(BODY, 'letters that are no signature'),
      check(Buffer.from([0xff, 0xfe, 0x3d, 0x31]), SIGNATURE),
    ],
    Array(9).fill(false),
  );
});

test('a call without a signature is refused as such', () => {
  for (const header of [undefined, '']) {
    assert.throws(() => readTwilioSignature(URL, readForm(Buffer.from(BODY)), header), { code: 'missing_signature' });
  }
});

test('a field that was sent twice is none', () => {
  const form = readForm(Buffer.from('To=%2B1&To=%2B2&__proto__=x&From=%2B3'));
  assert.deepEqual([fieldOf(form, 'To'), fieldOf(form, 'From'), fieldOf(form, 'Body')], ['', '+3', '']);
});
