import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from './errors.ts';
import { addressKey, createMeter, quotaHeaders, WINDOW_SECONDS } from './rate-limit.ts';

describe('an address is counted', () => {
  test('by itself, when it is of IPv4', () => {
    assert.equal(addressKey('192.0.2.1'), '192.0.2.1');
    assert.notEqual(addressKey('192.0.2.1'), addressKey('192.0.2.2'));
  });

  test('as the IPv4 address that it stands for, however that is written', () => {
    for (const mapped of ['::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:192.0.2.1']) {
      assert.equal(addressKey(mapped), '192.0.2.1');
    }
  });

  test('with its /64, when it is of IPv6, and with no other', () => {
    const word = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 8, maxLength: 8 }),
        fc.array(word, { minLength: 4, maxLength: 4 }),
        (a, host) => {
          // Beginnings of all zeros may stand for IPv4.
          fc.pre(a.slice(0, 4).some((part) => part !== 0));
          const neighbour = [...a.slice(0, 3), (a[3] ?? 0) ^ 1, ...a.slice(4)];
          assert.equal(addressKey(writeIpv6(a)), addressKey(writeIpv6([...a.slice(0, 4), ...host])));
          assert.notEqual(addressKey(writeIpv6(a)), addressKey(writeIpv6(neighbour)));
        },
      ),
    );
  });

  test('alike in short and in long writing, and with a zone', () => {
    const long = addressKey('2001:0db8:0000:0000:0000:0000:0000:0001');
    assert.equal(addressKey('2001:db8::1'), long);
    assert.equal(addressKey('2001:DB8::2'), long);
    assert.equal(addressKey('fe80::1%eth0'), addressKey('fe80::2'));
  });

  test('as it stands, when it is no address', () => {
    for (const text of ['', 'unknown', '1.2.3.4.5', 'unix:/run/socket']) assert.equal(addressKey(text), text);
  });
});

describe('a meter', () => {
  test('counts each key down to nothing, then refuses with the time to wait', async () => {
    const meter = createMeter('project', 3);
    const left: number[] = [];
    for (let taken = 0; taken < 3; taken += 1) left.push((await meter.take('a')).remaining);
    assert.deepEqual(left, [2, 1, 0]);
    await assert.rejects(meter.take('a'), (error) => {
      assert.ok(error instanceof ApiError);
      assert.equal(error.code, 'rate_limit_exceeded');
      const { retryAfterSeconds = 0, headers } = error.detail;
      assert.ok(retryAfterSeconds >= 1 && retryAfterSeconds <= WINDOW_SECONDS);
      assert.equal(headers?.['x-ratelimit-remaining-requests'], '0');
      assert.match(error.message, new RegExp(`3 requests.*${retryAfterSeconds} s`));
      return true;
    });
    assert.equal((await meter.take('b')).remaining, 2);
  });

  test('lets exactly as many through as there are, when all ask at once', async () => {
    const meter = createMeter('project', 10);
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => meter.take('a')));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10);
  });

  test('shows what is left and takes nothing, of a key that it knows and of one that it does not', async () => {
    const meter = createMeter('project', 3);
    for (let looks = 0; looks < 5; looks += 1) {
      assert.deepEqual(await meter.look('a'), {
        policy: 'project',
        limit: 3,
        remaining: 3,
        resetSeconds: WINDOW_SECONDS,
      });
    }
    await meter.take('a');
    assert.equal((await meter.look('a')).remaining, 2);
    await Promise.allSettled(Array.from({ length: 9 }, () => meter.take('a')));
    assert.equal((await meter.look('a')).remaining, 0);
  });

  test('counts without refusing', async () => {
    const meter = createMeter('project', 2);
    const left: number[] = [];
    for (let counted = 0; counted < 4; counted += 1) left.push((await meter.count('a')).remaining);
    assert.deepEqual(left, [1, 0, 0, 0]);
    await assert.rejects(meter.take('a'), ApiError);
  });

  test('knows names of the prototype chain as keys like any other', async () => {
    const meter = createMeter('project', 2);
    for (const key of ['__proto__', 'constructor', 'hasOwnProperty', '']) {
      assert.equal((await meter.take(key)).remaining, 1, key);
      assert.equal((await meter.take(key)).remaining, 0, key);
    }
  });
});

test('a quota is told in every family of headers', () => {
  assert.deepEqual(quotaHeaders({ policy: 'project', limit: 600, remaining: 599, resetSeconds: 42 }), {
    'ratelimit-policy': '"project";q=600;w=60',
    ratelimit: '"project";r=599;t=42',
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-remaining-requests': '599',
    'x-ratelimit-reset-requests': '42s',
  });
});

function writeIpv6(words: readonly number[]): string {
  return words.map((word) => word.toString(16)).join(':');
}
