import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readSignature } from './signature.ts';

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.code;
  }
}

function sign(text: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;
}

test('the published example holds', () => {
  // docs.github.com, "Validating webhook deliveries": the same header, by the same rules.
  const header = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const isSigned = readSignature(Buffer.from('Hello, World!'), header);
  assert.equal(isSigned("It's a Secret to Everybody"), true);
  assert.equal(isSigned("It's a Secret to everybody"), false);
  assert.equal(readSignature(Buffer.from('Hello, World?'), header)("It's a Secret to Everybody"), false);
});

test('what is beyond ASCII may be signed as it is sent, or escaped in lower-case digits', () => {
  const body = Buffer.from('{"body":"Grüße 👋 aus Łódź"}');
  const escaped = '{"body":"Gr\\u00fc\\u00dfe \\ud83d\\udc4b aus \\u0141\\u00f3d\\u017a"}';
  for (const signed of [body.toString(), escaped])
    assert.equal(readSignature(body, sign(signed, 's'))('s'), true, signed);
  assert.equal(readSignature(body, sign(escaped.toUpperCase(), 's'))('s'), false);
});

test('bytes that are no text are checked as they are', () => {
  const body = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
  const header = `sha256=${createHmac('sha256', 's').update(body).digest('hex')}`;
  assert.equal(readSignature(body, header)('s'), true);
  assert.equal(readSignature(body, sign('{}', 's'))('s'), false);
});

test('what is no signature is refused before anything is hashed', () => {
  const body = Buffer.from('{}');
  const good = sign('{}', 's');
  assert.equal(
    codeOf(() => readSignature(body, undefined)),
    'missing_signature',
  );
  const wrong = [
    '',
    'sha256=',
    good.slice(0, -1),
    `${good}0`,
    `${good}, ${good}`,
    good.replace('sha256', 'sha1'),
    'sha256=zz',
  ];
  for (const header of [...wrong, good.toUpperCase()]) {
    assert.equal(
      codeOf(() => readSignature(body, header)),
      'bad_signature',
      header,
    );
  }
  assert.equal(
    codeOf(() => readSignature(body, [good, good])),
    'bad_signature',
  );
});
