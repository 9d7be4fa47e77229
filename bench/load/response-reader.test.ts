import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseReader } from './response-reader.ts';

const SIZED = 'HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0a;ext=1\r\n\r\n34567890\r\n0\r\nx: y\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\n\r\n';

describe('ResponseReader', () => {
  it('gives every byte of successive answers, wherever the socket cut them', () => {
    const bytes = Buffer.from(SIZED + CHUNKED + EMPTY + SIZED);
    for (let step = 1; step <= bytes.length; step++) {
      const read = readAll(bytes, step);
      assert.deepEqual(
        read,
        [
          { status: 201, body: 'hello' },
          { status: 200, body: 'abc\r\n34567890' },
          { status: 204, body: '' },
          { status: 201, body: 'hello' },
        ],
        `in pieces of ${step} bytes`,
      );
    }
  });

  it('does not end an answer whose body is not whole', () => {
    assert.deepEqual(readAll(Buffer.from(SIZED.slice(0, -1)), 1000), []);
    assert.deepEqual(readAll(Buffer.from(CHUNKED.slice(0, -2)), 1000), []);
  });
});

function readAll(bytes: Buffer, step: number): { status: number; body: string }[] {
  const answers: { status: number; body: string }[] = [];
  let body = '';
  const reader = new ResponseReader(
    (piece) => {
      body += piece.toString('latin1');
    },
    (status) => {
      answers.push({ status, body });
      body = '';
    },
  );
  for (let at = 0; at < bytes.length; at += step) reader.feed(bytes.subarray(at, at + step));
  return answers;
}
