import { ApiError } from '../../kernel/http/errors.ts';
import { type ModelRef, splitModelId } from './model-id.ts';
import { loadPriceData } from './price-data.ts';
import { getProvider, isKnownProvider, listProviders } from './providers.ts';

export interface ModelInfo {
  /** `provider/model` */
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly displayName: string;
  /** Tokens of prompt and answer together. */
  readonly contextWindow: number;
  readonly maxOutputTokens?: number;
  /** Unix seconds: the day in the model's name, else the day of the catalogue. */
  readonly created: number;
  readonly ownedBy: string;
}

/** Where the catalogue does not say: what the common models of today hold at least. */
export const DEFAULT_CONTEXT_WINDOW = 128_000;
export const DEMO_CONTEXT_WINDOW = 8192;
export const DEMO_MODEL_ID = 'builtin/demo';

const MODEL_NAME_MAX = 256;
const CATALOGUE_DAY = Date.UTC(2026, 0, 1) / 1000;

/** Entries of the price data that are no chat models (embedding, speech, images), or aliases that no provider answers to. */
const NOT_CHAT =
  /embed|whisper|moderation|image|tts|transcribe|realtime|audio|voxtral|voice|live|sonic|speech|ocr|rerank|guard|computer-use|instruct-\d{4}$|davinci|babbage|^ada$|^curie$|vision-preview|^ft:|ft-$|:extended$/;

const DEMO: ModelInfo = {
  id: DEMO_MODEL_ID,
  provider: 'builtin',
  model: 'demo',
  displayName: 'Built-in demo model (offline, no key)',
  contextWindow: DEMO_CONTEXT_WINDOW,
  created: CATALOGUE_DAY,
  ownedBy: 'builtin',
};

interface Catalogue {
  readonly models: readonly ModelInfo[];
  readonly byId: ReadonlyMap<string, ModelInfo>;
  /** The provider's own name → every entry of that name. */
  readonly byModel: ReadonlyMap<string, readonly ModelInfo[]>;
}

let catalogue: Catalogue | undefined;

/** Every known chat model, the built-in one first. Loads the price data on the first call. */
export function listModels(): readonly ModelInfo[] {
  return loadCatalogue().models;
}

/**
 * The catalogue's entry of `provider/model`. A model of a known provider that the catalogue lacks gets an entry with the
 * default context window, for providers publish models faster than catalogues follow; its price is null. Undefined for
 * an unknown provider or an id that is not `provider/model`.
 */
export function findModel(id: string): ModelInfo | undefined {
  if (id === DEMO_MODEL_ID) return DEMO;
  const { provider, model } = splitModelId(id);
  if (!isKnownProvider(provider) || provider === 'builtin' || model === '') return undefined;
  return loadCatalogue().byId.get(id) ?? describeUnlisted(id, provider, model);
}

/**
 * Reads a model id as people write it: `openai/gpt-4o`, or the bare name of exactly one model of the catalogue.
 * Throws `unknown_provider`, or `invalid_request` with param `model`.
 */
export function parseModelId(id: string): ModelRef {
  if (id === '' || id.length > MODEL_NAME_MAX) {
    throw refuseModel(`A model is named by provider/model, in at most ${MODEL_NAME_MAX} characters.`);
  }
  const ref = splitModelId(id);
  if (ref.provider === '') return resolveBareName(ref.model);
  getProvider(ref.provider);
  if (ref.model === '')
    throw refuseModel(`"${id}" names no model. Write it as provider/model, for example ${DEMO_MODEL_ID}.`);
  if (ref.provider === 'builtin' && id !== DEMO_MODEL_ID) {
    throw refuseModel(`The built-in provider has one model: ${DEMO_MODEL_ID}.`);
  }
  return ref;
}

function resolveBareName(name: string): ModelRef {
  const found = loadCatalogue().byModel.get(name) ?? [];
  const only = found[0];
  if (only !== undefined && found.length === 1) return { provider: only.provider, model: only.model };
  if (only === undefined) {
    throw refuseModel(`No model is called "${name}". Write it as provider/model; GET /v1/models lists the known ones.`);
  }
  throw refuseModel(
    `"${name}" is offered by several providers. Say which: ${found.map((each) => each.id).join(', ')}.`,
  );
}

function refuseModel(message: string): ApiError {
  return new ApiError('invalid_request', { message, param: 'model' });
}

function loadCatalogue(): Catalogue {
  if (catalogue !== undefined) return catalogue;
  const models: ModelInfo[] = [DEMO];
  for (const { provider } of listProviders()) models.push(...readProviderModels(provider));
  const byId = new Map<string, ModelInfo>();
  const byModel = new Map<string, ModelInfo[]>();
  for (const info of models) {
    byId.set(info.id, info);
    const named = byModel.get(info.model);
    if (named === undefined) byModel.set(info.model, [info]);
    else named.push(info);
  }
  catalogue = { models, byId, byModel };
  return catalogue;
}

function readProviderModels(provider: string): ModelInfo[] {
  const { priceProvider } = getProvider(provider);
  if (priceProvider === undefined) return [];
  const data = loadPriceData().findProvider({ providerId: priceProvider });
  const infos = new Map<string, ModelInfo>();
  for (const entry of data?.models ?? []) {
    const model = entry.id.replace(/^regional\./, '');
    if (entry.deprecated === true || !isChatModel(provider, model)) continue;
    // A marketplace's list holds every model ever sold: there, only those whose window is known are worth listing.
    if (entry.context_window === undefined && listsOnlyDescribed(provider)) continue;
    // A family's heading (`codestral`, where the models are codestral-latest and so on) is no model to call.
    if (loadPriceData().calcPrice({}, model, { providerId: priceProvider }) === null) continue;
    const id = `${provider}/${model}`;
    infos.set(id, {
      id,
      provider,
      model,
      displayName: entry.name ?? model,
      contextWindow: entry.context_window ?? DEFAULT_CONTEXT_WINDOW,
      created: readDay(model) ?? CATALOGUE_DAY,
      ownedBy: provider,
    });
  }
  return [...infos.values()];
}

function isChatModel(provider: string, model: string): boolean {
  if (NOT_CHAT.test(model) || (provider === 'mistral' && model.endsWith(':free'))) return false;
  // The price data files the other vendors' models that a Google cloud sells under Google; this API serves its own.
  if (provider === 'google') return /^(gemini|gemma)-\d/.test(model);
  // An OpenRouter id is vendor/model.
  if (provider === 'openrouter') return model.includes('/');
  return true;
}

function listsOnlyDescribed(provider: string): boolean {
  return provider === 'openrouter' || provider === 'together' || provider === 'groq' || provider === 'openai';
}

function describeUnlisted(id: string, provider: string, model: string): ModelInfo {
  return {
    id,
    provider,
    model,
    displayName: model,
    contextWindow: readUnlistedWindow(provider, model) ?? DEFAULT_CONTEXT_WINDOW,
    created: readDay(model) ?? CATALOGUE_DAY,
    ownedBy: provider,
  };
}

/** A dated or aliased name (`gpt-4o-2024-08-06`) is priced by its family: it has the family's window as well. */
function readUnlistedWindow(provider: string, model: string): number | undefined {
  const { priceProvider } = getProvider(provider);
  if (priceProvider === undefined) return undefined;
  const found = loadPriceData().calcPrice({}, model, { providerId: priceProvider });
  return found?.model.context_window;
}

/** Unix seconds of the date that a model's name ends with: `-2024-08-06`, `-20250514`. */
function readDay(model: string): number | undefined {
  const match = /(?:^|[-@])(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?=$|[-:@])/.exec(model);
  if (match === null) return undefined;
  const [, year, month, day] = match;
  return Date.UTC(Number(year), Number(month) - 1, Number(day)) / 1000;
}
