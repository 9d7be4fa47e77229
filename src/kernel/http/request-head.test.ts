import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from './errors.ts';
import { checkHead, MAX_URL_LENGTH } from './request-head.ts';

const statusOf = (url: string, headers: readonly string[]) => {
  try {
    checkHead(url, headers);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.detail.status;
  }
};

describe('the head of a request', () => {
  test('is taken up to its limits', () => {
    assert.equal(statusOf(`/${'a'.repeat(MAX_URL_LENGTH - 1)}`, ['Host', 'a'.repeat(16_000)]), undefined);
  });

  test('is refused with 400 for its address, and with 431 for its headers', () => {
    assert.equal(statusOf(`/${'a'.repeat(MAX_URL_LENGTH)}`, []), 400);
    assert.equal(statusOf('/', ['Host', 'a'.repeat(16_380)]), 431);
    assert.equal(
      statusOf(
        '/',
        Array.from({ length: 4_000 }, () => 'a'),
      ),
      431,
    );
  });
});
