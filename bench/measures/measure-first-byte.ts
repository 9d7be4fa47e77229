import type { Findings } from '../figure.ts';
import { runRequest } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import { type BenchContext, SHORT_MESSAGE } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';

const FIRST_BYTE_P50_MS = 20;

/** From the request's last byte to the first frame, and to the first piece of text, of a streamed run. */
export async function measureFirstByte({ server, smiths, quick, say }: BenchContext): Promise<Findings> {
  say('first streamed byte');
  const [smithId = ''] = await smiths.take(1);
  const result = await generateLoad({
    kind: 'first-byte',
    host: server.host,
    port: server.port,
    request: runRequest(server, smithId, SHORT_MESSAGE, true),
    deltaEvent: 'message.delta',
    ...(quick ? { warmUpRounds: 10, rounds: 30 } : { warmUpRounds: 100, rounds: 300 }),
  });
  const firstFrame = getSummary(result, 'first_frame');
  const firstDelta = getSummary(result, 'first_delta');
  const bar = { atMost: FIRST_BYTE_P50_MS };
  return {
    figures: [
      { name: 'first streamed byte, p50', value: firstFrame.p50, unit: 'ms', bar },
      { name: 'first streamed byte, p99', value: firstFrame.p99, unit: 'ms' },
      { name: 'first streamed word, p50', value: firstDelta.p50, unit: 'ms', bar },
      { name: 'first streamed word, p99', value: firstDelta.p99, unit: 'ms' },
    ],
    remarks: remarkFailures('first byte', result),
    details: result,
  };
}
