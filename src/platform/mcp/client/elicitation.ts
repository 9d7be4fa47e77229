import type { JsonObject } from '../../tables.ts';

/** What a server asks a person by a form. */
export interface Elicitation {
  readonly message: string;
  readonly requestedSchema: JsonObject;
}

/** Undefined: it is no form. */
export function readElicitation(params: unknown): Elicitation | undefined {
  const { mode = 'form', message, requestedSchema } = (params ?? {}) as JsonObject;
  if (mode !== 'form' || typeof requestedSchema !== 'object' || requestedSchema === null) return undefined;
  if (Array.isArray(requestedSchema)) return undefined;
  return { message: String(message ?? ''), requestedSchema: requestedSchema as JsonObject };
}
