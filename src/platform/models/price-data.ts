import { createRequire } from 'node:module';

type PriceData = typeof import('@pydantic/genai-prices');

let loaded: PriceData | undefined;

/**
 * The price package, loaded at the first use: it adds about 20 MB to the process, which one that runs only the built-in
 * model should not pay. `require` because prices and the catalogue are asked for synchronously.
 */
export function loadPriceData(): PriceData {
  if (loaded === undefined) {
    const prices: PriceData = createRequire(import.meta.url)('@pydantic/genai-prices');
    loaded = prices;
  }
  return loaded;
}
