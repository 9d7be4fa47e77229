import type { ModelPrice } from '@pydantic/genai-prices';
import { systemClock } from '../../kernel/clock/clock.ts';
import { splitModelId } from './model-id.ts';
import { loadPriceData } from './price-data.ts';
import { getProvider } from './providers.ts';

/** Token counts of one model call. The parts are contained in their totals, as every provider reports them. */
export interface PricedUsage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/** Prices are decimals of US dollars with at most nine places, so that they are exact as integers of this scale. */
const PRICE_SCALE = 1_000_000_000;

/**
 * The list price of a model call, in integer micro-US-dollars (1e-6), rounded half up. 0 for the built-in model; null
 * where no list price is known (a self-hosted server, a model that the price data lacks). `at` picks the price of that
 * day where a model's price changed.
 *
 * The arithmetic is in integers: the price package multiplies floats, and half a micro-unit must not fall to the wrong side.
 */
export function priceUsage(modelId: string, usage: PricedUsage, at: Date = systemClock.now()): number | null {
  const { provider, model } = splitModelId(modelId);
  if (provider === 'builtin') return 0;
  const { priceProvider } = getProvider(provider);
  if (priceProvider === undefined) return null;

  const input = wholeTokens(usage.inputTokens);
  const cacheRead = Math.min(wholeTokens(usage.cachedInputTokens), input);
  const cacheWrite = Math.min(wholeTokens(usage.cacheWriteTokens), input - cacheRead);
  const output = wholeTokens(usage.outputTokens);
  const reasoning = Math.min(wholeTokens(usage.reasoningTokens), output);

  const price = findPrice(priceProvider, model, at);
  if (price === null) return null;
  // A model without a token price is priced by something that a turn does not count (images, seconds of audio).
  if (price.input_mtok === undefined && price.output_mtok === undefined) return null;

  // A part without a price of its own is charged as its whole: it is taken off the whole only where it has one.
  const inputParts = splitPriced(price, input, { cache_read_mtok: cacheRead, cache_write_mtok: cacheWrite });
  const outputParts = splitPriced(price, output, { output_reasoning_mtok: reasoning });
  let scaled = 0n;
  for (const [key, tokens] of [
    ['input_mtok', inputParts.rest] as const,
    ['output_mtok', outputParts.rest] as const,
    ...inputParts.priced,
    ...outputParts.priced,
  ]) {
    // Dollars for a million tokens are micro-dollars for one.
    scaled += BigInt(tokens) * scaledPrice(price[key], input);
  }
  // Dollars for a thousand requests are a thousand micro-dollars for one.
  scaled += scaledPrice(price.requests_kcount, input) * 1000n;

  const scale = BigInt(PRICE_SCALE);
  return Number((scaled + scale / 2n) / scale);
}

const MINUTE_MS = 60_000;
const PRICES_KEPT = 500;
/** By provider and model: the price package looks through its patterns each time, which takes longer than all the rest. */
const known = new Map<string, { readonly minute: number; readonly price: ModelPrice | null }>();

/** Prices change by the day, or by the hour and minute of the day: within a minute they do not. */
function findPrice(providerId: string, model: string, at: Date): ModelPrice | null {
  const key = `${providerId}/${model}`;
  const minute = Math.floor(at.getTime() / MINUTE_MS);
  const last = known.get(key);
  if (last?.minute === minute) return last.price;
  const timestamp = new Date(minute * MINUTE_MS);
  const price = loadPriceData().calcPrice({}, model, { providerId, timestamp })?.model_price ?? null;
  if (known.size >= PRICES_KEPT) known.clear();
  known.set(key, { minute, price });
  return price;
}

function splitPriced(price: ModelPrice, total: number, parts: Readonly<Record<string, number>>) {
  const priced = Object.entries(parts).filter(([key]) => price[key] !== undefined);
  const rest = total - priced.reduce((sum, [, tokens]) => sum + tokens, 0);
  return { priced, rest };
}

function scaledPrice(price: ModelPrice[string], inputTokens: number): bigint {
  if (price === undefined) return 0n;
  let amount = price;
  if (typeof amount !== 'number') {
    // The tier of the whole input applies to every token of the call.
    const tiers = amount.tiers.filter((tier) => inputTokens > tier.start).sort((a, b) => b.start - a.start);
    amount = tiers[0]?.price ?? amount.base;
  }
  return BigInt(Math.round(amount * PRICE_SCALE));
}

function wholeTokens(count: number | undefined): number {
  return count !== undefined && Number.isFinite(count) && count > 0 ? Math.round(count) : 0;
}
