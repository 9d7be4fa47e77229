/** The load of `embedded` and `idle`: 16 clients that have whole chat completions answered, each for a smith of its own. */
import type { Ironcraft } from '../ironcraft.ts';
import { generateLoad, type LoadResult } from '../load/generate-load.ts';
import { SmithPool } from '../provision.ts';
import { SMALL_MODEL } from '../upstream/completion.ts';
import { registerUpstream, type Upstream } from '../upstream/start-upstream.ts';
import { CLIENTS } from './bench-context.ts';

export interface CompletionLoad extends LoadResult {
  /** Completions a second in each stretch of the measured time. */
  readonly rates: readonly number[];
}

export async function loadCompletions(
  server: Ironcraft,
  upstream: Upstream,
  { warmUpMs, durationMs, windowMs }: { warmUpMs: number; durationMs: number; windowMs: number },
): Promise<CompletionLoad> {
  const model = await registerUpstream(server, upstream, SMALL_MODEL);
  const smithIds = await new SmithPool(server, { name: 'Completions', model }).take(CLIENTS);
  const { host, port, credentials } = server;
  const requests = smithIds.map((smithId) => ({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${credentials.tenant_token}`, 'ic-smith-id': smithId },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Name some tokens.' }] }),
    expect: '"finish_reason":"stop"',
  }));
  const result = await generateLoad({ kind: 'saturation', host, port, requests, warmUpMs, durationMs, windowMs });
  const windows = Array.from({ length: Math.ceil(durationMs / windowMs) }, (_, index) => `window ${index}`);
  return { ...result, rates: windows.map((name) => ((result.figures[name] ?? 0) * 1_000) / windowMs) };
}
