/** An embedder whose use is recorded, drawn from the wallet, and blocked by budgets and an empty wallet. */
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Credits } from '../../billing/index.ts';
import { guardBudgets, priceWorstCase, releaseBudgets } from '../../budgets/index.ts';
import { estimateTokens, priceUsage } from '../../models/index.ts';
import { recordUsage } from '../../usage/index.ts';
import type { Embedder, EmbedOptions, EmbedResult } from './embedder.ts';

export interface EmbeddingMeter {
  readonly db: Database;
  readonly projectId: string;
  /** Whose usage it is; null: the project's own. */
  readonly smithId: string | null;
  /** Of whoever asks for it; null: the server itself. */
  readonly tokenId: string | null;
  /** How long it waits for others to give back what they reserved of a budget; a default where undefined. */
  readonly budgetWaitMs: number | undefined;
  readonly credits: Credits;
}

export function meterEmbedder(embedder: Embedder, meter: EmbeddingMeter): Embedder {
  return {
    model: embedder.model,
    embed: (texts, options = {}) =>
      texts.length === 0 ? embedder.embed(texts, options) : embed(embedder, meter, texts, options),
  };
}

async function embed(
  embedder: Embedder,
  { db, projectId, smithId, tokenId, budgetWaitMs: waitMs, credits }: EmbeddingMeter,
  texts: readonly string[],
  options: EmbedOptions,
): Promise<EmbedResult> {
  const { model } = embedder;
  await credits.checkProject(projectId);
  const holder = mintId('use');
  const estimate = () => texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  const reservation = { projectId, smithId, holder, signal: options.signal, waitMs };
  const isHeld = await guardBudgets(db, reservation, () => priceWorstCase(model, estimate(), 0));
  let tokens = 0;
  const record = async () => {
    if (tokens > 0) {
      const costMicros = priceUsage(model, { inputTokens: tokens, outputTokens: 0 });
      const used = { source: 'embedding', model, smithId, tokenId, calls: 1, inputTokens: tokens, costMicros } as const;
      await recordUsage(db, projectId, [used], {
        holder: isHeld ? holder : null,
        terms: credits.terms,
        // Searches of one project add to one row, and should not wait for each other's commits.
        asyncCommit: costMicros === 0 && db.kind === 'server',
      });
    } else if (isHeld) await releaseBudgets(db, { projectId, holder });
  };
  let result: EmbedResult;
  try {
    result = await embedder.embed(texts, { ...options, onTokens: (used) => (tokens += used) });
  } catch (error) {
    // What was answered before is paid for. What became of the call matters more than that this is not stored.
    await record().catch(() => undefined);
    throw error;
  }
  tokens = result.tokens;
  await record();
  return result;
}
