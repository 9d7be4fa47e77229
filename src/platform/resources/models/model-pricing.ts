import { systemClock } from '../../../kernel/clock/clock.ts';
import { priceUsage } from '../../models/index.ts';
import type { RunnableModel } from './schema.ts';

type Pricing = RunnableModel['pricing'];

/** Large enough for whole micro-dollars, and below the prompts that some providers charge a higher price for. */
const SAMPLE_TOKENS = 100_000;
const DAY_MS = 86_400_000;

/** Looking the prices of 260 models up takes 70 ms of the event loop, and they change by the day. */
let known: { readonly day: number; readonly byModel: Map<string, Pricing> } = { day: 0, byModel: new Map() };

/** What a model costs today by its provider's list; null where no price is known. */
export function priceModel(modelId: string): Pricing {
  const day = Math.floor(systemClock.now().getTime() / DAY_MS);
  if (known.day !== day) known = { day, byModel: new Map() };
  let pricing = known.byModel.get(modelId);
  if (pricing === undefined) {
    pricing = samplePrices(modelId);
    known.byModel.set(modelId, pricing);
  }
  return pricing;
}

function samplePrices(modelId: string): Pricing {
  // A price for each request, which some models have, is no part of a token's.
  const request = priceUsage(modelId, { inputTokens: 0, outputTokens: 0 });
  const input = priceUsage(modelId, { inputTokens: SAMPLE_TOKENS, outputTokens: 0 });
  const cached = priceUsage(modelId, { inputTokens: SAMPLE_TOKENS, outputTokens: 0, cachedInputTokens: SAMPLE_TOKENS });
  const output = priceUsage(modelId, { inputTokens: 0, outputTokens: SAMPLE_TOKENS });
  if (request === null || input === null || cached === null || output === null) return null;
  const perMillion = (micros: number): number => (micros - request) / SAMPLE_TOKENS;
  return {
    input_per_million: perMillion(input),
    cached_input_per_million: perMillion(cached),
    output_per_million: perMillion(output),
  };
}
