import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APICallError, JSONParseError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { OutboundError } from '../../kernel/outbound/outbound.ts';
import { readDeclaredMessage } from './declared-message.ts';

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function failedCall(body: unknown, headers: Record<string, string> | null = JSON_TYPE, statusCode = 400): APICallError {
  const responseBody = typeof body === 'string' ? body : JSON.stringify(body);
  // The packages take the text of the status where they find no message.
  const message = 'I am the status text';
  return new APICallError({
    message,
    statusCode,
    responseBody,
    ...(headers === null ? {} : { responseHeaders: headers }),
    url: 'http://upstream/v1/chat/completions',
    requestBodyValues: { prompt: 'secret prompt' },
  });
}

const message = 'No such model.';

const DECLARED: readonly [format: string, body: unknown, headers?: Record<string, string>][] = [
  ['OpenAI', { error: { message, type: 'invalid_request_error', param: null, code: null } }],
  ['OpenRouter', { error: { message, code: 404 } }],
  ['Anthropic', { type: 'error', error: { type: 'not_found_error', message } }],
  ['Google', { error: { code: 404, message, status: 'NOT_FOUND' } }],
  ['Google, of a stream', [{ error: { code: 404, message, status: 'NOT_FOUND' } }]],
  ['Mistral', { object: 'error', message, type: 'invalid_model', param: null, code: '1500' }],
  ['xAI', { code: 'Some requested entity was not found', error: message }],
  ['Hugging Face', { error: message, error_type: 'validation' }],
  ['Amazon', { message }, { 'content-type': 'application/json', 'x-amzn-errortype': 'ValidationException:http://x/' }],
  ['Amazon, older', { Message: message }, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-errortype': 'X' }],
  ['Problem details', { error: { message, type: 'x' } }, { 'content-type': 'application/problem+json' }],
  ['an event', { type: 'error', code: 'x', message }, { 'content-type': 'text/event-stream' }],
  ['a response that failed', { type: 'response.failed', response: { error: { code: 'x', message } } }],
];

for (const [format, body, headers] of DECLARED) {
  test(`the message of an error in the format of ${format} is shown`, () => {
    assert.equal(readDeclaredMessage(failedCall(body, headers), 400), message);
  });
}

const OTHERS: readonly [what: string, body: unknown, headers?: Record<string, string>][] = [
  ['a page', '<html>root:x:0:0</html>', { 'content-type': 'text/html' }],
  ['a text', 'root:x:0:0', { 'content-type': 'text/plain' }],
  [
    'an error of a provider that says it is a text',
    { error: { message, type: 'x' } },
    { 'content-type': 'text/plain' },
  ],
  ['an error without a media type', { error: { message, type: 'x' } }, {}],
  ['nothing', ''],
  ['broken JSON', '{"error":{"message":"x","type":"y"}'],
  ['a string', '"secret"'],
  ['a list', ['secret']],
  ['Kubernetes', { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code: 403 }],
  ['Docker', { message }],
  ['etcd', { error: message, code: 3, message }],
  ['Elasticsearch', { error: { root_cause: [], type: 'x', reason: message }, status: 404 }],
  ['an untyped error', { error: { message } }],
  ['a message that is no text', { error: { message: { secret: 1 }, type: 'x' } }],
  ['a settings file', { password: 'secret', error: null }],
  ['64 KiB and more', { error: { message: 'x'.repeat(65_537), type: 'x' } }],
];

for (const [what, body, headers] of OTHERS) {
  test(`of ${what} nothing is shown`, () => {
    assert.equal(readDeclaredMessage(failedCall(body, headers), 400), undefined);
  });
}

test('an answer without headers was never an answer of a provider', () => {
  assert.equal(readDeclaredMessage(failedCall({ error: { message, type: 'x' } }, null, 500), 500), undefined);
});

test('what a package cannot parse is not shown, though its error quotes it', () => {
  const error = new JSONParseError({ text: 'root:x:0:0', cause: new Error('no JSON') });
  assert.match(error.message, /root/);
  assert.equal(readDeclaredMessage(error, undefined), undefined);
  assert.equal(readDeclaredMessage(new Error('root:x:0:0'), undefined), undefined);
});

test('a broken connection is named by its code, without the address', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:80'), { code: 'ECONNREFUSED' });
  const error = new APICallError({
    message: `Cannot connect to API: ${cause.message}`,
    cause,
    url: 'http://inside.example/v1',
    requestBodyValues: {},
  });
  assert.equal(readDeclaredMessage(error, undefined), 'the connection failed (ECONNREFUSED)');
});

test('what the guard and the packages say themselves is shown', () => {
  const refused = new OutboundError('address', 'the host inside is no public address');
  assert.equal(readDeclaredMessage(refused, undefined), refused.message);
  const wrapped = new APICallError({ message: 'x', cause: refused, url: 'http://inside/', requestBodyValues: {} });
  assert.equal(readDeclaredMessage(wrapped, undefined), refused.message);
  const unsupported = new UnsupportedFunctionalityError({ functionality: 'images' });
  assert.equal(readDeclaredMessage(unsupported, undefined), unsupported.message);
});

test('an error event of a stream shows its message', () => {
  assert.equal(readDeclaredMessage({ message, type: 'overloaded' }, 529), message);
  assert.equal(readDeclaredMessage({ type: 'error', error: { type: 'overloaded', message } }, undefined), message);
  assert.equal(readDeclaredMessage({ secret: 'x' }, undefined), undefined);
});
