/** What a visitor of a hosted page waits for until the answer begins. */
import Type from 'typebox';
import { Parse } from 'typebox/value';
import type { Findings } from '../figure.ts';
import { generateLoad } from '../load/generate-load.ts';
import { createAgent } from '../provision.ts';
import { type BenchContext, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';

const FIRST_BYTE_P50_MS = 30;

/** From the request's last byte to the first frame, and to the first piece of text: of one visitor, who is known. */
export async function measureHosted({ server, quick, say }: BenchContext): Promise<Findings> {
  say('first byte of a hosted page');
  const { host, port, credentials } = server;
  const { tenant_token: token } = credentials;
  const page = await server.call(token, 'POST', '/v1/deployments', {
    target: { type: 'agent', id: await createAgent(server, token, 'Page') },
    kind: 'web',
    provider_metadata: { chats_per_minute: 1_000 },
  });
  const { id } = Parse(Type.Object({ id: Type.String() }), page);
  const result = await generateLoad({
    kind: 'first-byte',
    host,
    port,
    request: {
      method: 'POST',
      path: `/v1/hosted/${id}/chat`,
      headers: { accept: 'text/event-stream' },
      body: JSON.stringify({ visitor_id: 'visitor', message: SHORT_MESSAGE }),
    },
    deltaEvent: 'text',
    ...(quick ? { warmUpRounds: 10, rounds: 30 } : { warmUpRounds: 100, rounds: 300 }),
  });
  const figures = (['first_frame', 'first_delta'] as const).flatMap((part) => {
    const { p50, p99 } = getSummary(result, part);
    const name = `hosted page, first ${part === 'first_frame' ? 'byte' : 'word'}`;
    return [
      { name: `${name}, p50`, value: p50, unit: 'ms', bar: { atMost: FIRST_BYTE_P50_MS } } as const,
      { name: `${name}, p99`, value: p99, unit: 'ms' } as const,
    ];
  });
  return { figures, remarks: remarkFailures('hosted page', result), details: result };
}
