/** What every kind of model says of itself. */
export interface OpenedModel {
  readonly provider: string;
  readonly modelId: string;
}

interface Identity {
  readonly modelId: string;
  readonly secrets: readonly string[];
}

/** Shorter strings are no credentials of a real provider, and striking them out would mangle ordinary words. */
const SECRET_MIN_LENGTH = 6;
const REDACTED = '[redacted]';

/** Beside the model and not in it, so that no serializer can reach a key through the model. */
const identities = new WeakMap<OpenedModel, Identity>();

/** Notes which id a model was opened by, and the credentials that no message about it may show. */
export function identifyModel<M extends OpenedModel>(model: M, modelId: string, secrets: readonly string[]): M {
  identities.set(model, { modelId, secrets: secrets.filter((secret) => secret.length >= SECRET_MIN_LENGTH) });
  return model;
}

/** `provider/model` as the tenant wrote it. */
export function nameModel(model: OpenedModel): string {
  return identities.get(model)?.modelId ?? `${model.provider.split('.')[0]}/${model.modelId}`;
}

/** Keys are shown in part, with stars. Tried once a word: from every character of it, a long word takes quadratic time. */
const STARRED_WORD = /(?<!\S)(?=\S*\*{4})\S+/g;

/**
 * Strikes the model's own credentials out of a text that an upstream wrote, and whatever else looks like a key: servers
 * echo the key they refuse, whole or in part.
 */
export function redactSecrets(model: OpenedModel, text: string): string {
  let redacted = text;
  for (const secret of identities.get(model)?.secrets ?? []) redacted = redacted.replaceAll(secret, REDACTED);
  return redacted
    .replace(/\b(Bearer|Basic)\s+\S+/gi, `$1 ${REDACTED}`)
    .replace(/\b(sk|pk|rk|xai|gsk|ABSK|AIza|AKIA|ASIA)[-_]?[\w*-]{8,}/g, REDACTED)
    .replace(STARRED_WORD, REDACTED);
}
