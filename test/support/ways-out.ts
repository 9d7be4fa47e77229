import { after } from 'node:test';
import { createOutbound } from '../../src/kernel/outbound/outbound.ts';
import { ANSWER_BYTES_MAX } from '../../src/platform/models/answer-limits.ts';
import type { WaysOut } from '../../src/platform/models/index.ts';

/** The guarded ways to the servers of a test file, on loopback, until its end. */
export function openWaysOut(): WaysOut {
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
  after(() => outbound.close());
  return {
    fetch: outbound.fetch('public', { maxRedirects: 0, maxBytes: ANSWER_BYTES_MAX }),
    post: outbound.post('public'),
  };
}
