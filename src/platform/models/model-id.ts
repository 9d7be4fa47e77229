export interface ModelRef {
  readonly provider: string;
  /** The provider's own name of the model; may contain slashes. */
  readonly model: string;
}

/** Cuts `provider/model` at the first slash, checking nothing. Without a slash the provider is empty. */
export function splitModelId(id: string): ModelRef {
  const slash = id.indexOf('/');
  if (slash < 0) return { provider: '', model: id };
  return { provider: id.slice(0, slash), model: id.slice(slash + 1) };
}
