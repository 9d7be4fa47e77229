import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kernel/http/errors.ts';
import { checkOrigin } from './check-origin.ts';

const PUBLIC_URL = 'https://agents.example.com';

test('programs and pages of any origin may call', () => {
  const fine: readonly [origin: string | undefined, host: string | undefined][] = [
    [undefined, 'evil.example'],
    ['null', 'agents.example.com'],
    ['https://app.example.org', 'agents.example.com'],
    ['https://app.example.org', 'ironcraft:8787'],
    ['https://agents.example.com', 'agents.example.com'],
    ['http://localhost:6274', 'localhost:8787'],
    ['http://127.0.0.1:8787', '127.0.0.1:8787'],
    ['http://[::1]:8787', '[::1]:8787'],
    ['https://app.example.org', undefined],
  ];
  for (const [origin, host] of fine) checkOrigin(PUBLIC_URL, { origin, host } as never);
});

test('a name that its owner has pointed here is refused, and what is no origin', () => {
  for (const [origin, host] of [
    ['http://evil.example:8787', 'evil.example:8787'],
    ['http://evil.example', 'evil.example'],
    ['nonsense', 'agents.example.com'],
    ['', 'agents.example.com'],
  ]) {
    assert.throws(
      () => checkOrigin(PUBLIC_URL, { origin, host } as never),
      (error) => error instanceof ApiError && error.detail.status === 403 && error.detail.param === 'Origin',
      origin,
    );
  }
});
